// Rules that are tried beside those that count: how often they would have decided otherwise, and about which calls.
import type { ReactElement } from 'react'
import type { OperatorPolicy } from '../../../../src/client/index.ts'
import type { ShownRules } from '../../../../src/language/policy.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { count } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'
import { DataTable } from '../../lib/table.tsx'
import { ruleWords, Verdict } from '../../lib/verdict.tsx'
import { ShadowRules } from './rules.tsx'

type ShadowProps = { policy: OperatorPolicy; agent: string; rules: ShownRules | undefined }

const heads = ['Call', 'Was', 'Would be', 'By the shadow rule', 'When']

export function Shadow({ policy, agent, rules }: ShadowProps): ReactElement | null {
  const { judged, differing, differences } = policy.shadow
  const own = differences.filter(each => each.agent === agent)
  if (!rules && own.length === 0) return null
  return (
    <section aria-label="Shadow rules">
      <h2>Shadow rules</h2>
      <p className="tw-muted">
        Their verdicts are only recorded. Of {plural(judged, 'call')} of all agents they would have decided{' '}
        {count(differing)} otherwise.
      </p>
      {rules && (
        <details className="tw-details">
          <summary>{plural(rules.rules.length, 'rule')} in order</summary>
          <ShadowRules rules={rules} />
        </details>
      )}
      {own.length > 0 && (
        <DataTable
          label="Table of shadow differences"
          caption="Calls that they would have decided otherwise"
          hidesCaption
          heads={heads}
          isNumber={at => at === 4}
        >
          {own.map(each => (
            <tr key={`${each.session} ${each.callId}`}>
              <th scope="row">
                <Link to={`/sessions/${each.session}`} className="link">
                  <code>{printable(each.tool, 60)}</code>
                </Link>{' '}
                <span className="tw-muted">{printable(each.owner, 40)}</span>
              </th>
              <td>
                <Verdict verdict={each.given} />
              </td>
              <td>
                <Verdict verdict={each.verdict} />
              </td>
              <td className="words">
                {ruleWords(each.rule)}
                {each.reason !== undefined && (
                  <span className="tw-muted"> “{printable(each.reason, 160)}”</span>
                )}
              </td>
              <td className="number tw-muted">
                <Time at={each.at} />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
    </section>
  )
}
