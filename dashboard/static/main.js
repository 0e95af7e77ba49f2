// Keeps the page current and adds keys. Everything works without it: this only saves
// reloading. No HTML is made here: pages come from the server, and patches take its nodes.
import { startClock } from './clock.js';
import { startCopy } from './copy.js';
import { startFilter } from './filter.js';
import { startKeys } from './keys.js';
import { startLive } from './live.js';
import { startOperator } from './operator.js';

const live = startLive();
startClock();
startCopy();
startFilter(live);
startKeys();
startOperator(live);
