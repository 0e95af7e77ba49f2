// The keyboard. Letters work where nobody is typing, and never with a modifier.
export function startKeys() {
  const help = document.getElementById('keys');
  document.querySelector('.foot .hint').hidden = false;
  let jump = 0; // until when a letter after g counts

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    const typing = event.target.closest?.('input, select, textarea, [contenteditable]');
    if (event.key === 'Escape' && typing) {
      typing.blur();
      return;
    }
    if (typing || document.querySelector('dialog[open]')) return;
    if (performance.now() < jump) {
      jump = 0;
      const link = document.querySelector(`[data-jump="${CSS.escape(event.key)}"]`);
      if (link) act(event, () => link.click());
      return;
    }
    const row = event.target.closest?.('#main') ? event.target : null;
    switch (event.key) {
      case 'g': jump = performance.now() + 1500; return;
      case '?': act(event, () => help.showModal()); return;
      case '/': act(event, () => toFilter()); return;
      case 'j': act(event, () => step(row, 1)); return;
      case 'k': act(event, () => step(row, -1)); return;
      case 'n': follow(event, 'next'); return;
      case 'p': follow(event, 'prev'); return;
      case 'c': act(event, () => document.querySelector('[data-copy]')?.click()); return;
    }
  });
}

function act(event, what) {
  event.preventDefault();
  what();
}

// toFilter goes to the field of the page, or to the page that has one.
function toFilter() {
  const field = document.querySelector('[data-slash]');
  if (field) field.select();
  else document.querySelector('[data-jump="e"]').click();
}

function follow(event, rel) {
  const link = document.querySelector(`.pager a[rel="${rel}"]`);
  if (link) act(event, () => link.click());
}

// step puts the focus on the next or previous row.
function step(from, by) {
  const rows = [...document.querySelectorAll('#main a.row')];
  if (rows.length === 0) return;
  const at = rows.indexOf(from?.closest('a.row'));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
  rows[next].focus();
  rows[next].scrollIntoView({ block: 'nearest' });
}
