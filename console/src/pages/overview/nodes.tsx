// The nodes that share the store, as the one that answers saw them.
import type { ReactElement } from 'react'
import type { OperatorNode } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { duration } from '../../../../src/react/words.ts'
import { Id, State } from '../../lib/parts.tsx'
import { DataTable } from '../../lib/table.tsx'

const heads = ['Node', 'State', 'Address', 'Version', 'Lease left']

export function Nodes(props: { nodes: readonly OperatorNode[]; seenAt: number | undefined }): ReactElement {
  const { nodes, seenAt } = props
  const ordered = [...nodes].sort((a, b) => standing(b) - standing(a) || (a.id < b.id ? -1 : 1))
  return (
    <section aria-label="Nodes">
      <DataTable
        label="Table of nodes"
        caption={
          <>
            Nodes on this database
            {seenAt !== undefined && (
              <span className="tw-muted">
                {' '}
                seen <Time at={seenAt} />
              </span>
            )}
          </>
        }
        heads={heads}
        isNumber={at => at === 4}
      >
        {ordered.map(node => (
          <Row key={node.id} node={node} />
        ))}
      </DataTable>
    </section>
  )
}

/** The one that answers first, those whose lease has ended last. */
function standing({ self, leftMs }: OperatorNode): number {
  return self ? 2 : leftMs > 0 ? 1 : 0
}

function Row({ node }: { node: OperatorNode }): ReactElement {
  const { id, address, version, leftMs, self, problem } = node
  return (
    <tr>
      <th scope="row">
        <Id id={id} /> {self && <span className="tw-muted">answers this page</span>}
      </th>
      <td>
        <NodeState leftMs={leftMs} problem={problem} />
      </td>
      <td>{address === undefined ? 'none: it works alone' : <code>{printable(address, 120)}</code>}</td>
      <td>{printable(version, 40)}</td>
      <td className="number">{leftMs > 0 ? duration(leftMs) : '–'}</td>
    </tr>
  )
}

function NodeState({
  leftMs,
  problem,
}: Pick<OperatorNode, 'leftMs'> & { problem: string | undefined }): ReactElement {
  if (problem !== undefined) return <State kind="failed" words={problem} />
  return leftMs > 0 ? (
    <State kind="done" words="works" />
  ) : (
    <State kind="stopped" words="lease ended; others take its sessions" />
  )
}
