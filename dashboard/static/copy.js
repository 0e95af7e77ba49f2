// Copies the diagnosis as plain text, for a ticket.
import { announce } from './announce.js';

export function startCopy() {
  const ready = () => document.querySelectorAll('[data-copy][hidden]').forEach((button) => { button.hidden = false; });
  ready();
  document.addEventListener('patched', ready);
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-copy]');
    if (button) copy(button);
  });
}

async function copy(button) {
  const text = document.getElementById(button.dataset.copy).textContent;
  const done = await write(text);
  say(button, done ? 'Copied' : 'Press Ctrl+C');
}

// write uses the clipboard where the browser gives it (a secure context), else the old way.
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeBySelection(text);
  }
}

function writeBySelection(text) {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'hush';
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  focused?.focus({ preventScroll: true });
  return done;
}

function say(button, word) {
  const before = button.dataset.word || button.textContent;
  button.dataset.word = before;
  button.textContent = word;
  announce(word);
  setTimeout(() => { button.textContent = before; }, 2000);
}
