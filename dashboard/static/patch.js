// Brings a part of the page up to date with a fresh one from the server. What did not
// change is not touched, so that focus, selection and scroll stay where they are.

// keyOf tells siblings apart over time.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return '';
  return node.id || node.dataset?.key || '';
}

// patch makes live look like fresh. Both are elements of the same name.
export function patch(live, fresh) {
  patchAttributes(live, fresh);
  if (isField(live) || live.isEqualNode(fresh)) return;
  patchChildren(live, fresh);
}

// A field belongs to the person who fills it in.
function isField(node) {
  return node.matches('input, select, textarea, dialog, [data-still]');
}

function patchAttributes(live, fresh) {
  if (isField(live)) return;
  for (const { name, value } of fresh.attributes) {
    if (live.getAttribute(name) !== value) live.setAttribute(name, value);
  }
  for (const { name } of [...live.attributes]) {
    if (fresh.hasAttribute(name)) continue;
    if (name === 'open' && live.matches('details')) continue; // opened by hand
    if (name === 'class' && live.classList.contains('gone')) live.classList.remove('gone');
    else live.removeAttribute(name);
  }
}

function patchChildren(live, fresh) {
  const wanted = new Set([...fresh.children].map(keyOf));
  const known = new Map();
  for (const child of [...live.children]) {
    const key = keyOf(child);
    if (!key) continue;
    if (wanted.has(key)) known.set(key, child);
    else remove(child);
  }
  let at = present(live.firstChild);
  for (const next of [...fresh.childNodes]) {
    const old = partner(next, at, known);
    if (old === null) {
      live.insertBefore(next, at); // out of the fresh page, which nobody else needs
      continue;
    }
    if (old === at) at = present(at.nextSibling);
    else move(live, old, at);
    patchNode(old, next);
  }
  while (at) {
    const rest = present(at.nextSibling);
    remove(at);
    at = rest;
  }
}

// present is the node, or the next one that has not gone.
function present(node) {
  while (node && isGone(node)) node = node.nextSibling;
  return node;
}

function isGone(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.classList.contains('gone');
}

// partner finds the node that stands for next now: by key, or else the one whose turn it
// is when it is of the same kind.
function partner(next, at, known) {
  const key = keyOf(next);
  if (key) {
    const old = known.get(key);
    known.delete(key);
    return old && old.nodeName === next.nodeName ? old : null;
  }
  return at && at.nodeType === next.nodeType && at.nodeName === next.nodeName && !keyOf(at) ? at : null;
}

function patchNode(live, fresh) {
  if (live.nodeType === Node.ELEMENT_NODE) patch(live, fresh);
  else if (live.data !== fresh.data && !selected(live)) live.data = fresh.data;
}

// selected reports whether a person has marked a part of the node.
function selected(node) {
  const selection = document.getSelection();
  return selection.rangeCount > 0 && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(node);
}

function move(parent, node, before) {
  if (parent.moveBefore) {
    parent.moveBefore(node, before);
    return;
  }
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  parent.insertBefore(node, before);
  focused?.focus({ preventScroll: true });
}

// remove takes a node away, unless somebody is on it: then it stays where it is, and says
// so, until they leave (sweep).
function remove(node) {
  if (node.nodeType === Node.ELEMENT_NODE && node.contains(document.activeElement)) node.classList.add('gone');
  else node.remove();
}

// sweep takes away what is gone and was left.
export function sweep() {
  for (const node of document.querySelectorAll('.gone')) {
    if (!node.contains(document.activeElement)) node.remove();
  }
}
