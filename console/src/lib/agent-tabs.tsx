// The agents as tabs of a page. The chosen one is in the address.
import type { ReactElement } from 'react'
import type { OperatorAgent } from '../../../src/client/index.ts'
import { printable } from '../../../src/lib/text/index.ts'
import { type Address, Link, withQuery } from './router.tsx'

type AgentTabsProps = {
  agents: readonly OperatorAgent[]
  current: OperatorAgent
  address: Address
  /** Members of the address that speak of the agent before. */
  without: readonly string[]
}

export function AgentTabs({ agents, current, address, without }: AgentTabsProps): ReactElement {
  const cleared = Object.fromEntries(without.map(name => [name, undefined]))
  return (
    <nav className="tabs" aria-label="Agents">
      {agents.map(each => (
        <Link
          key={each.name}
          to={withQuery(address, { agent: each.name, ...cleared })}
          className="tab"
          aria-current={each === current ? 'page' : undefined}
        >
          {printable(each.title ?? each.name, 60)}
        </Link>
      ))}
    </nav>
  )
}
