// Light, dark, or as the system says. It is kept in this browser.
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export function readTheme(): Theme {
  const kept = read('turnwire-theme')
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  write('turnwire-theme', theme)
}

/** Storage may be forbidden; then nothing is kept. */
export function read(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}

export function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // Nothing is kept.
  }
}
