// Filters while one types; without it the form's button does.
export function startFilter(live) {
  const form = document.querySelector('form[data-filter]');
  if (!form) return;
  const apply = () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value !== '') query.set(name, value);
    }
    const text = query.toString();
    live.go(location.pathname + (text ? '?' + text : ''));
    const back = document.querySelector('.theme [name="back"]');
    back.value = back.value.split('?')[0] + (text ? '?' + text : '');
  };
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
}
