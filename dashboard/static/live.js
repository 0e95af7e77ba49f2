// One WebSocket tells that something changed; the page is then read anew and patched in.
// Without the socket the page is read every few seconds, and says so.
import { announce } from './announce.js';
import { setServerTime, tickTimes } from './clock.js';
import { patch } from './patch.js';

const LEAST = 250; // ms between two readings
const POLL = 5000; // ms between readings without news
const HIDDEN = 10000; // the same in a tab that nobody looks at
const RETRY_FIRST = 500;
const RETRY_MOST = 15000;

const parts = ['nav', 'line', 'banners', 'main'];

export function startLive() {
  const lamp = document.getElementById('live');
  const state = {
    connected: false, rev: null, retry: RETRY_FIRST, failed: 0, since: 0, last: 0, timer: 0, request: null, again: false, url: location.href,
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
  function read() {
    state.last = performance.now();
    const request = new XMLHttpRequest();
    state.request = request;
    state.again = false;
    const asked = state.url;
    request.open('GET', asked);
    request.responseType = 'document';
    request.setRequestHeader('X-Fragment', '1');
    request.timeout = 10000;
    request.onloadend = () => {
      state.request = null;
      const page = request.response;
      const ours = page?.getElementById('main')?.dataset.page === document.getElementById('main').dataset.page;
      if (ours && asked === state.url) {
        state.failed = 0;
        state.since = Date.now();
        update(page);
      } else if (!ours) {
        state.failed++;
        if (request.status === 401 || request.status === 403 || (page && page.querySelector('.login'))) location.reload();
      }
      show();
      soon(state.again ? 0 : document.hidden ? HIDDEN : POLL);
    };
    request.send();
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
    // go shows the page at another query, as a filter does, and keeps it current.
    go(url) {
      state.url = url;
      history.replaceState(history.state, '', url);
      if (state.request) {
        state.request.onloadend = null;
        state.request.abort();
        state.request = null;
      }
      clearTimeout(state.timer);
      read();
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
