// Asks in a window what its page would ask, and shows there what came of it. The pages
// come from the server as documents; without this script they are pages of their own.
import { announce } from './announce.js';

export function startOperator(live) {
  const dialog = document.getElementById('operator');
  if (!dialog) return; // those who may only read
  let card = ''; // the key of the backend that the window is about
  let at = ''; // the address of the page in the window
  let request = null;
  let armed = false; // somebody did something in the window since it was filled

  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-operate]');
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    card = link.closest('article').dataset.key;
    load('GET', link.href, null);
  });
  dialog.addEventListener('click', (event) => {
    if (!event.target.closest('[data-close]')) return;
    event.preventDefault();
    dialog.close();
  });
  // The key that opened the window, held a moment longer, must not send what it asks.
  dialog.addEventListener('keydown', (event) => { armed = armed || !event.repeat; }, true);
  dialog.addEventListener('pointerdown', () => { armed = true; }, true);
  dialog.addEventListener('submit', (event) => {
    event.preventDefault();
    if (armed) load('POST', at, new URLSearchParams(new FormData(event.target)));
  });
  dialog.addEventListener('close', () => {
    request?.abort();
    request = null;
    dialog.replaceChildren();
    refocus();
  });

  // load asks for a page as a document and takes what it has for the window.
  function load(method, address, form) {
    if (request) return;
    request = new XMLHttpRequest();
    request.open(method, address);
    request.responseType = 'document';
    request.timeout = address.endsWith('/probe') ? 0 : 60000; // a probe ends by its own timeout
    request.onabort = () => {};
    const mine = request;
    request.onloadend = () => {
      if (request !== mine) return;
      request = null;
      dialog.removeAttribute('aria-busy');
      take(mine.response, method, address, mine.status);
    };
    dialog.setAttribute('aria-busy', 'true');
    request.send(form);
  }

  function take(page, method, address, status) {
    const asked = page?.getElementById('operate');
    if (asked) {
      at = address;
      show(asked, method);
    } else if (method === 'POST' && page?.querySelector('#main[data-page="entrypoints"] article.backend')) {
      finish(page);
    } else if (method === 'POST') {
      complain(whatIsWrong(page, status));
    } else if (status === 0) {
      announce('The router does not answer.');
    } else {
      location.assign(address); // the page itself says what is wrong
    }
  }

  function show(asked, method) {
    const part = document.adoptNode(asked);
    for (const link of part.querySelectorAll('a[href]')) link.href = new URL(link.getAttribute('href'), at);
    dialog.replaceChildren(part);
    armed = false;
    if (!dialog.open) dialog.showModal();
    const problem = dialog.querySelector('.problem-note');
    const first = dialog.querySelector('[autofocus]');
    (problem || (method === 'POST' ? null : first) || dialog.querySelector('h1')).focus();
  }

  // finish closes the window and shows what was done where the backend stands.
  function finish(page) {
    const said = find(page)?.querySelector('.said')?.textContent || '';
    dialog.close();
    live.show(page);
    const place = find(document)?.querySelector('.said');
    if (place) place.textContent = said;
    announce(said);
    refocus();
  }

  function complain(text) {
    let note = dialog.querySelector('.problem-note');
    if (!note) {
      note = document.createElement('p');
      note.className = 'problem-note';
      note.tabIndex = -1;
      note.setAttribute('role', 'alert');
      dialog.querySelector('form').before(note);
    }
    note.textContent = text;
    note.focus();
  }

  function whatIsWrong(page, status) {
    if (status === 401) return 'Nothing was done: the session is over. Load the page anew and log in.';
    const said = page?.querySelector('.empty h2')?.textContent;
    if (said) return 'Nothing was done. ' + said;
    return 'The router did not answer as expected: it is not known whether that was done. The page behind shows what holds.';
  }

  function find(page) {
    return page.querySelector(`article[data-key="${CSS.escape(card)}"]`);
  }

  // refocus puts the focus back on the backend when the link that opened the window has
  // gone meanwhile.
  function refocus() {
    if (document.activeElement && document.activeElement !== document.body) return;
    const place = find(document);
    (place?.querySelector('[data-operate]') || place)?.focus({ preventScroll: true });
  }
}
