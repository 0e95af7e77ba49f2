// One WebSocket tells that something changed; the page is then read anew and patched in.
// Without the socket the page is read every few seconds, and says so.
import { announce } from './announce.js';
import { setServerTime, tickTimes } from './clock.js';
import { patch } from './patch.js';

const LEAST = 250; // ms between two readings
const POLL = 5000; // ms between readings without news
const HIDDEN = 10000; // the same in a tab that nobody looks at
const PATIENCE = 1000; // ms that a newer filter waits for the answer to an older one
const ADDRESS = 350; // ms between two changes of the address: browsers refuse more than 100 in 30 s
const GLANCE = 40; // rows to ask for while somebody types; the others follow when they pause
const RETRY_FIRST = 500;
const RETRY_MOST = 15000;

const parts = ['nav', 'line', 'banners', 'main'];

export function startLive() {
  const lamp = document.getElementById('live');
  const state = {
    connected: false, rev: null, retry: RETRY_FIRST, failed: 0, since: 0, last: 0, timer: 0, request: null, again: false, url: location.href,
    filtering: false, named: -ADDRESS, naming: 0,
  };
  lamp.hidden = false;

  function show() {
    const text = lamp.querySelector('.text');
    let word = 'live', now = 'on';
    if (state.failed >= 2) {
      now = 'lost';
      word = 'no answer since ' + clockText(state.since) + ': this is what was last known';
    } else if (!state.connected) {
      now = 'off';
      word = 'not live: read every 5 s';
    }
    if (lamp.dataset.live !== now) lamp.dataset.live = now;
    if (text.textContent !== word) text.textContent = word;
  }

  // soon reads the page, at most every LEAST ms.
  function soon(wait = 0) {
    if (state.request) {
      state.again = true;
      return;
    }
    const least = document.hidden ? HIDDEN : LEAST;
    const due = Math.max(wait, state.last + least - performance.now());
    clearTimeout(state.timer);
    state.timer = setTimeout(read, Math.max(due, 0));
  }

  // read asks for the page as a document: the browser parses it, no text becomes HTML here.
  function read(filtering = false) {
    state.filtering = filtering;
    state.last = performance.now();
    const request = new XMLHttpRequest();
    state.request = request;
    state.again = false;
    const asked = state.url;
    request.open('GET', asked);
    request.responseType = 'document';
    if (filtering) request.setRequestHeader('X-Rows', GLANCE);
    request.timeout = 10000;
    request.onloadend = () => {
      state.request = null;
      const page = request.response;
      const ours = page?.getElementById('main')?.dataset.page === document.getElementById('main').dataset.page;
      if (ours) { // typed over since or not: whoever types on and on sees rows, too
        state.failed = 0;
        state.since = Date.now();
        update(page);
      } else {
        state.failed++;
        if (request.status === 401 || request.status === 403 || (page && page.querySelector('.login'))) location.reload();
      }
      show();
      clearTimeout(state.timer);
      if (asked !== state.url) read(true);
      else soon(state.again || filtering ? 0 : document.hidden ? HIDDEN : POLL);
    };
    request.send();
  }

  // drop forgets the answer that is on its way.
  function drop() {
    if (!state.request) return;
    state.request.onloadend = null;
    state.request.abort();
    state.request = null;
  }

  // name puts the page's query into the address.
  function name() {
    clearTimeout(state.naming);
    const wait = state.named + ADDRESS - performance.now();
    if (wait > 0) {
      state.naming = setTimeout(name, wait);
      return;
    }
    state.named = performance.now();
    history.replaceState(history.state, '', state.url);
  }

  // now asks for the filter of the moment.
  function now() {
    drop();
    read(true);
  }

  function update(page) {
    if (assetsOf(page) !== assetsOf(document) && !editing()) {
      location.reload(); // another version of the router
      return;
    }
    const before = document.title;
    setServerTime(page.body.dataset.now);
    for (const id of parts) {
      const fresh = page.getElementById(id);
      if (fresh) patch(document.getElementById(id), fresh);
    }
    const foot = page.querySelector('.foot p');
    if (foot) patch(document.querySelector('.foot p'), foot);
    const root = document.documentElement, level = page.documentElement.dataset.level;
    if (root.dataset.level !== level) {
      root.dataset.level = level;
      document.getElementById('icon').href = page.getElementById('icon').getAttribute('href');
    }
    if (page.title !== before) {
      document.title = page.title;
      announce(page.querySelector('.verdict .lead')?.textContent || page.title);
    }
    tickTimes();
    document.dispatchEvent(new Event('patched'));
  }

  function connect() {
    const url = new URL(document.body.dataset.root + '../events', location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.hash = '';
    url.search = state.rev === null ? '' : '?since=' + state.rev;
    let socket;
    try {
      socket = new WebSocket(url);
    } catch {
      return;
    }
    socket.onmessage = (message) => hear(JSON.parse(message.data));
    socket.onclose = () => {
      state.connected = false;
      show();
      soon();
      setTimeout(connect, state.retry * (0.5 + Math.random()));
      state.retry = Math.min(state.retry * 2, RETRY_MOST);
    };
  }

  function hear(frame) {
    if (frame.type === 'hello') {
      state.connected = true;
      state.retry = RETRY_FIRST;
      show();
    }
    state.rev = frame.rev;
    soon();
  }

  state.since = Date.now();
  document.addEventListener('visibilitychange', () => { if (!document.hidden) soon(); });
  addEventListener('pageshow', (event) => { if (event.persisted) soon(); });
  show();
  connect();
  soon(POLL);

  return {
    // show takes a page that is here already.
    show: update,
    // go shows the page at another query, as a filter does, and keeps it current. The
    // answer to an older filter is waited for, a little: else fast typing would drop each
    // before it is here, and show nothing until it pauses.
    go(url) {
      state.url = url;
      name();
      clearTimeout(state.timer);
      const early = state.filtering && state.request ? state.last + PATIENCE - performance.now() : 0;
      if (early > 0) state.timer = setTimeout(now, early);
      else now();
    },
  };
}

// assetsOf is the folder of a page's scripts and styles; its name changes with them.
function assetsOf(page) {
  return page.querySelector('link[rel="stylesheet"]').getAttribute('href');
}

// editing reports whether a person is filling in a form that reloading would empty, or
// looks at what came of one.
function editing() {
  return !!document.querySelector('#operate') || !!document.activeElement?.closest('form:not([data-filter])');
}

function clockText(ms) {
  return new Date(ms).toISOString().slice(11, 19) + ' UTC';
}
