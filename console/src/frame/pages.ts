// The five pages of the rail.
export type PageName = 'playground' | 'sessions' | 'approvals' | 'tools' | 'system'

export const pages: readonly { name: PageName; label: string; path: string; key: string }[] = [
  { name: 'playground', label: 'Playground', path: '/', key: '1' },
  { name: 'sessions', label: 'Sessions', path: '/sessions', key: '2' },
  { name: 'approvals', label: 'Approvals', path: '/approvals', key: '3' },
  { name: 'tools', label: 'Tools', path: '/tools', key: '4' },
  { name: 'system', label: 'System', path: '/system', key: '5' },
]
