// Tells those who do not see the page what changed.
export function announce(text) {
  const place = document.getElementById('announce');
  if (place.textContent !== text) place.textContent = text;
}
