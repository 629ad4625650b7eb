// The pages of the rail. Some are there only on a server that has what they show.
import type { OperatorMe } from '../../../src/client/index.ts'

export type PageName = 'playground' | 'sessions' | 'approvals' | 'tools' | 'policy' | 'payments' | 'overview'

type Page = {
  name: PageName
  label: string
  path: string
  key: string
  /** Others would be refused. */
  forOperators?: true
  feature?: OperatorMe['features'][number]
}

const all: readonly Omit<Page, 'key'>[] = [
  { name: 'playground', label: 'Playground', path: '/' },
  { name: 'sessions', label: 'Sessions', path: '/sessions' },
  { name: 'approvals', label: 'Approvals', path: '/approvals' },
  { name: 'tools', label: 'Tools', path: '/tools' },
  { name: 'policy', label: 'Policy', path: '/policy', forOperators: true },
  { name: 'payments', label: 'Payments', path: '/payments', feature: 'payments' },
  { name: 'overview', label: 'Overview', path: '/overview' },
]

/** Those that this caller has on this server, with the key that leads to each. */
export function pagesFor({ features, operator, open }: OperatorMe): Page[] {
  return all
    .filter(({ feature }) => feature === undefined || features.includes(feature))
    .filter(({ feature, forOperators }) => (feature === undefined && !forOperators) || operator || open)
    .map((page, index) => ({ ...page, key: String(index + 1) }))
}
