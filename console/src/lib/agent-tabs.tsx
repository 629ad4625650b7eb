// The agents as tabs of a page. The chosen one is in the address.
import type { ReactElement } from 'react'
import type { OperatorAgent } from '../../../src/client/index.ts'
import { printable } from '../../../src/lib/text/index.ts'
import { type Address, Link, withQuery } from './router.tsx'
import { useTabInSight } from './tab-in-sight.ts'

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
    <nav ref={useTabInSight(current.name)} className="tabs" aria-label="Agents">
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
