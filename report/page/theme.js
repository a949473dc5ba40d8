// Light or dark: what the system prefers, until the button says otherwise. Runs before the first
// paint, so that a dark page does not flash.
'use strict';

const theme = (() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const listeners = [];
  let chosen = stored();

  // A browser may keep no storage for files.
  function stored() {
    try {
      return localStorage.getItem('gradwire-theme');
    } catch {
      return null;
    }
  }

  function isDark() {
    return chosen ? chosen === 'dark' : system.matches;
  }

  function apply() {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    for (const listener of listeners) listener();
  }

  function toggle() {
    chosen = isDark() ? 'light' : 'dark';
    try {
      localStorage.setItem('gradwire-theme', chosen);
    } catch {
      // It then holds as long as the page is open.
    }
    apply();
  }

  system.addEventListener('change', apply);
  apply();
  return {isDark, toggle, onChange: (listener) => listeners.push(listener)};
})();
