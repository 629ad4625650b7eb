// What the gate says about a call, by shape, colour and words.
import type { ReactElement } from 'react'
import type { ForeseenVerdict, ShownVerdict, VerdictWord } from '../../../src/language/policy.ts'
import { printable } from '../../../src/lib/text/index.ts'
import type { Shape } from '../../../src/react/icons.tsx'
import { ShapeIcon } from '../../../src/react/index.ts'
import type { OperatorTool } from './console-state.tsx'

const trusts = { trusted: 'allow', ask: 'ask', deny: 'deny' } as const

/** What a call of the tool meets. A caller who is not told sees the tool's own trust. */
export function toolVerdict({ verdict, trust }: OperatorTool): VerdictWord {
  return verdict?.verdict ?? trusts[trust]
}

/** The trust that was set for the tool, which counts where no rule decides. */
export function trustWords({ trust }: OperatorTool): string {
  return looks[trusts[trust]].words
}

/** The verdict on a call of a tool, where tools are listed, and whether a rule may decide otherwise by the arguments. */
export function ToolVerdict({ tool }: { tool: OperatorTool }): ReactElement {
  const verdict = toolVerdict(tool)
  const { shape, words } = looks[verdict]
  const unless = tool.verdict ? unlessWords(tool.verdict) : ''
  const varies = tool.verdict?.unless?.some(other => other.verdict !== verdict)
  return (
    <span
      className={`tool-verdict verdict-${verdict}`}
      title={unless === '' ? undefined : `Otherwise by its arguments: ${unless}`}
    >
      <ShapeIcon shape={shape} />
      {words}
      {varies && <span className="tool-varies"> by arguments</span>}
    </span>
  )
}

const looks: Readonly<Record<ShownVerdict, { shape: Shape; words: string }>> = {
  allow: { shape: 'check', words: 'runs' },
  ask: { shape: 'pause', words: 'asks first' },
  deny: { shape: 'slash', words: 'never runs' },
  decides: { shape: 'question', words: 'a function decides' },
}

export function verdictWords(verdict: ShownVerdict): string {
  return looks[verdict].words
}

export function Verdict({ verdict }: { verdict: ShownVerdict }): ReactElement {
  const { shape, words } = looks[verdict]
  return (
    <span className={`state verdict-${verdict}`}>
      <ShapeIcon shape={shape} />
      <span>{words}</span>
    </span>
  )
}

const origins: Readonly<Record<string, string>> = {
  'operator-trust': 'the trust of the tool',
  'client-trust': 'the trust that the client set',
  grant: 'a grant of the session',
  flow: 'where its arguments came from',
}

/** The rule that decided, or the part of the gate that did without one. */
export function ruleWords(rule: string): string {
  return origins[rule] ?? printable(rule, 80)
}

/** Rules that may decide otherwise once the arguments are known. Empty: there are none. */
export function unlessWords({ unless = [] }: ForeseenVerdict): string {
  return unless
    .map(
      ({ rule, verdict }) =>
        `${printable(rule, 60)} (${verdict === 'decides' ? 'decides' : looks[verdict].words})`,
    )
    .join(', ')
}
