// What the tools of an agent can do together: which bring text of outsiders, read private data, or act, and where all three meet
// with nobody asked.
import type { ReactElement } from 'react'
import type { AgentFlowReport } from '../../../../src/language/flow.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { plural } from '../../../../src/react/words.ts'

/** `report` absent: the caller is no operator. */
export function Flow({ report }: { report: AgentFlowReport | undefined }): ReactElement | null {
  if (!report) return null
  const { mode, pathCount, paths, closedBy, servers, unlabelled } = report
  return (
    <details className="tw-details">
      <summary>
        Flow: {mode},{' '}
        {pathCount === 0 ? 'no path with nobody asked' : `${plural(pathCount, 'path')} with nobody asked`}
      </summary>
      <dl className="facts">
        <Fact name="Bring untrusted text">{listNames(report.untrusted)}</Fact>
        <Fact name="Read private data">{listNames(report.private)}</Fact>
        <Fact name="Send or change">{listNames(report.acting)}</Fact>
        {unlabelled.length > 0 && <Fact name="Without labels">{listNames(unlabelled)}</Fact>}
        {servers.length > 0 && (
          <Fact name="Not looked at">tools of the MCP servers {listNames(servers)}</Fact>
        )}
        {closedBy !== undefined && <Fact name="Closed by">{printable(closedBy, 400)}</Fact>}
      </dl>
      {paths.length > 0 && (
        <ul className="plain" aria-label="Paths with nobody asked">
          {paths.map(path => (
            <li key={path.join(' ')}>
              <code>{path.map(name => printable(name, 80)).join(' → ')}</code>
            </li>
          ))}
          {pathCount > paths.length && <li>…</li>}
        </ul>
      )}
    </details>
  )
}

function listNames(names: readonly string[]): string {
  return names.map(name => printable(name, 80)).join(', ') || 'none'
}
