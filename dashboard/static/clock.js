// Counts the times on the page: how long ago, how long yet. The server's clock decides.
import { sweep } from './patch.js';

let offset = 0; // of the server's clock to this one, in ms

export function setServerTime(epoch) {
  const seconds = Number(epoch);
  if (!seconds) return;
  const measured = seconds * 1000 - Date.now();
  // The epoch is cut to seconds: only what is more than that is another clock.
  offset = Math.abs(measured) > 2000 ? measured : 0;
}

export function startClock() {
  setServerTime(document.body.dataset.now);
  setInterval(() => {
    tickTimes();
    sweep();
  }, 1000);
}

// tickTimes writes every time that changed.
export function tickTimes() {
  const now = Date.now() + offset;
  for (const time of document.querySelectorAll('time[data-for]')) {
    const text = span(Math.abs(now - Date.parse(time.dateTime)));
    const node = time.firstChild;
    if (node && node.data !== text && !marked(node)) node.data = text;
  }
}

function marked(node) {
  const selection = document.getSelection();
  return selection.rangeCount > 0 && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(node);
}

// span writes as the server does.
export function span(ms) {
  const all = Math.floor(ms / 1000);
  const hours = Math.floor(all / 3600), minutes = Math.floor(all / 60) % 60, seconds = all % 60;
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours >= 10 || (hours > 0 && minutes === 0)) return `${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes >= 10 || (minutes > 0 && seconds === 0)) return `${minutes} min`;
  if (minutes > 0) return `${minutes} min ${seconds} s`;
  return `${seconds} s`;
}
