// The rules of an agent in the order in which they are asked, with what each of them did.
import type { ReactElement } from 'react'
import type { RuleHits } from '../../../../src/client/index.ts'
import type { RuleSource, ShownPolicy, ShownRule, ShownRules } from '../../../../src/language/policy.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../src/lib/json/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { count } from '../../lib/parts.tsx'
import { DataTable } from '../../lib/table.tsx'
import { ruleWords, Verdict, verdictWords } from '../../lib/verdict.tsx'

const heads = ['№', 'Rule', 'Then', 'Decided', 'Last']
const verdicts = ['allow', 'ask', 'deny'] as const
const sources: Readonly<Record<RuleSource, string>> = {
  agent: 'the agent',
  file: 'the file',
  policy: 'the configuration',
}

type RulesProps = {
  /** Absent: the agent has none. */
  rules: ShownPolicy | undefined
  hits: readonly RuleHits[]
  /** The rule that decides the call that a person typed in. */
  decidedBy: string | undefined
}

export function Rules({ rules, hits, decidedBy }: RulesProps): ReactElement {
  const named = new Set(rules?.rules.map(each => each.name))
  const others = hits.filter(each => !named.has(each.rule))
  const most = Math.max(1, ...hits.map(sumHits))
  const isOther = decidedBy !== undefined && !named.has(decidedBy)
  const missing = isOther && !others.some(each => each.rule === decidedBy) ? [decidedBy] : []
  const after = [...others.map(each => each.rule), ...missing]
  return (
    <DataTable
      label="Rules in order"
      className="rules"
      caption={
        <>
          Rules in order
          {rules && <span className="tw-muted rules-version"> version {rules.version.slice(0, 8)}</span>}
        </>
      }
      heads={heads}
      isNumber={at => at === 0 || at === 4}
    >
      {rules?.rules.map((rule, index) => (
        <tr key={rule.name} aria-current={rule.name === decidedBy ? 'true' : undefined}>
          <td className="number tw-muted">{index + 1}</td>
          <th scope="row">
            <Statement rule={rule} />
          </th>
          <td>
            <Verdict verdict={rule.then} />
            <div className="rule-source">in {sources[rule.from]}</div>
          </td>
          <Hits hits={hits.find(each => each.rule === rule.name)} most={most} />
        </tr>
      ))}
      {!rules && (
        <tr>
          <td colSpan={5} className="words tw-muted">
            No rule speaks of this agent. Each call meets the trust of its tool, and grants. Rules are written
            in <code>policy.rules</code>, with the agent, or in a file (<code>policy.file</code>).
          </td>
        </tr>
      )}
      {after.map(rule => (
        <tr key={rule} aria-current={rule === decidedBy ? 'true' : undefined}>
          <td className="number tw-muted">–</td>
          <th scope="row">{capital(ruleWords(rule))}</th>
          <td className="tw-muted">as it is set</td>
          <Hits hits={hits.find(each => each.rule === rule)} most={most} />
        </tr>
      ))}
    </DataTable>
  )
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

function sumHits(hits: RuleHits): number {
  return hits.allow + hits.ask + hits.deny
}

/** A bar with a part for each verdict, and the sum beside it. */
function Hits({ hits, most }: { hits: RuleHits | undefined; most: number }): ReactElement {
  if (!hits)
    return (
      <>
        <td className="tw-muted">never</td>
        <td className="number tw-muted">–</td>
      </>
    )
  const parts = verdicts.filter(each => hits[each] > 0)
  return (
    <>
      <td title={parts.map(each => `${verdictWords(each)}: ${count(hits[each])}`).join(', ')}>
        <span className="hits">
          <span className="hits-count">{count(sumHits(hits))}</span>
          <span className="hits-bar" aria-hidden="true">
            {parts.map(each => (
              <i
                key={each}
                className={`verdict-${each}`}
                style={{ width: `${(hits[each] / most) * 100}%` }}
              />
            ))}
          </span>
          <span className="tw-hidden">
            {parts.map(each => `${verdictWords(each)} ${count(hits[each])}`).join(', ')}
          </span>
        </span>
      </td>
      <td className="number tw-muted">
        <Time at={hits.last} />
      </td>
    </>
  )
}

/** The name of a rule, its conditions in words, and its reason. */
function Statement({ rule }: { rule: ShownRule }): ReactElement {
  const { reason } = rule.rule
  const conditions = describeConditions(rule.rule)
  const functions = Object.entries(rule.rule).flatMap(([member, value]) => {
    const text = functionText(value)
    return text === undefined ? [] : [{ member, text }]
  })
  return (
    <div className="rule">
      <span className="rule-name">{printable(rule.name, 80)}</span>
      <span className="rule-conditions">
        {conditions.length === 0 ? 'any call' : conditions.map(each => <code key={each}>{each}</code>)}
      </span>
      {typeof reason === 'string' && <span className="tw-muted">“{printable(reason, 200)}”</span>}
      {functions.map(({ member, text }) => (
        <details key={member} className="tw-details">
          <summary>
            <code>{member}</code> is a function
          </summary>
          <pre className="tw-text">{printable(text, { multiline: true, maxChars: 4000 })}</pre>
        </details>
      ))}
    </div>
  )
}

const notConditions: ReadonlySet<string> = new Set(['name', 'reason', 'then', 'expiresInMs'])

function describeConditions(rule: JsonObject): string[] {
  return Object.entries(rule)
    .filter(([member, value]) => !notConditions.has(member) && functionText(value) === undefined)
    .flatMap(([member, value]) =>
      member === 'args' && isJsonObject(value)
        ? Object.entries(value).map(([name, wanted]) => `${printable(name, 40)}: ${describe(wanted)}`)
        : [`${member} ${describe(value)}`],
    )
}

function describe(value: Json | undefined): string {
  if (typeof value === 'string') return printable(value, 80)
  if (Array.isArray(value)) return value.map(describe).join(' or ')
  if (value !== undefined && isJsonObject(value))
    return Object.entries(value)
      .map(([name, member]) => `${printable(name, 40)} ${describe(member)}`)
      .join(', ')
  return JSON.stringify(value)
}

function functionText(value: Json | undefined): string | undefined {
  const text = value !== undefined && isJsonObject(value) ? value['function'] : undefined
  return typeof text === 'string' ? text : undefined
}

/** The rules that are tried beside those that count. */
export function ShadowRules({ rules }: { rules: ShownRules }): ReactElement {
  return (
    <ol className="shadow-rules">
      {rules.rules.map(rule => (
        <li key={rule.name}>
          <Statement rule={rule} /> <Verdict verdict={rule.then} />
        </li>
      ))}
    </ol>
  )
}
