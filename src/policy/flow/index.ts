// Flow control: decides whether a call that acts after untrusted text was read may run unasked. It answers from the log and
// the labels of tools alone; the rules are in warrants.ts, what the log says in log-index.ts.
import type { FlowLog } from '../../engine/ports/flow.ts'
import type { CallFlow, FlowFact, FlowMode } from '../../language/flow.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { readArguments } from './arguments.ts'
import { fold, wordsIn } from './fold.ts'
import { type Labels, resolveLabels } from './labels.ts'
import { type IndexOptions, LogIndex } from './log-index.ts'
import { LogReader, labelsFor } from './log-reader.ts'
import { hasRun, isTrustedResult } from './read-outcome.ts'
import { toFact } from './reasons.ts'
import { type Found, Warrants } from './warrants.ts'

export { resolveLabels } from './labels.ts'

export type FlowSettings = {
  /** Default `warrants`. */
  mode?: FlowMode
  /** The model names the tools that it will act with, and may name the values, before it reads anything untrusted; any other asks. */
  declare?: boolean
  /** Names of tools whose results count as the user's words: the people and rooms of one's own house. `*` is a wildcard. */
  insiders?: readonly string[]
}

export type FlowJudge = (tool: ToolDeclaration, input: Json, log: FlowLog) => CallFlow | undefined

/** What is kept with a session. */
type Memory = {
  reader: LogReader
  nested?: { of: FlowLog['nested'][number]['call'] | undefined; index: LogIndex; seen: Set<string> }
}

/** `isUnguarded`: the tool gives the conversation, or a task, to an agent that has no flow control, or one that asks less. */
export function createFlow(
  { mode = 'warrants', declare = false }: FlowSettings,
  options: IndexOptions & { isUnguarded: (tool: string) => boolean; hide: (text: string) => string },
): FlowJudge | undefined {
  if (mode === 'off') return undefined
  return (tool, input, log) => {
    const labels = resolveLabels(tool)
    const acts = labels.acts || options.isUnguarded(tool.name)
    if (!acts) return undefined
    const memory = remember(log, options)
    memory.reader.scan(log)
    const { nested } = log
    const isTainted = memory.reader.tainted || nested.some(({ result }) => taints(log, result, options))
    if (!isTainted) return { mode, tainted: false, warranted: true, facts: [] }
    const base = memory.reader.read(log)
    const indexes = nested.length === 0 ? [base] : [base, readNested(memory, nested, log, options, base)]
    const declared = declare ? memory.reader.declared : undefined
    const warrants = new Warrants(indexes, tool.name, labels, declared?.get(tool.name))
    const found = judgeArguments(input, labels, warrants)
    const about = wholeFacts(tool, labels, mode, declared)
    const isMeant = declared?.has(tool.name) || warrants.isMeant()
    if (!isMeant) about.push(whole('you said nothing by which people ask for this tool'))
    if (options.isUnguarded(tool.name)) about.push(whole('it goes on where fewer calls ask, or none'))
    const warranted = about.length === 0 && found.every(each => 'warrant' in each)
    const hide = log.isHidden ? undefined : options.hide
    return new Judged(mode, warranted, () => [
      ...about,
      ...pickFound(found).map(each => describeFound(each, indexes, hide)),
    ])
  }
}

/** They are recorded with the question. */
const mostFacts = 200

/** Those without a warrant first, if there are more than a person reads. */
function pickFound(found: readonly Found[]): readonly Found[] {
  if (found.length <= mostFacts) return found
  const [missing, others] = [found.filter(each => 'missing' in each), found.filter(each => 'warrant' in each)]
  return [...missing, ...others].slice(0, mostFacts)
}

/** After untrusted text. The facts are written out only for a person or a rule. */
class Judged implements CallFlow {
  readonly mode
  readonly tainted = true
  readonly warranted
  readonly #write
  #facts: FlowFact[] | undefined

  constructor(mode: CallFlow['mode'], warranted: boolean, write: () => FlowFact[]) {
    this.mode = mode
    this.warranted = warranted
    this.#write = write
  }

  get facts(): FlowFact[] {
    this.#facts ??= this.#write()
    return this.#facts
  }
}

function remember({ memory }: FlowLog, options: IndexOptions): Memory {
  if (isMemory(memory.kept)) return memory.kept
  const made: Memory = { reader: new LogReader(options) }
  memory.kept = made
  return made
}

function isMemory(kept: unknown): kept is Memory {
  return typeof kept === 'object' && kept !== null && 'reader' in kept
}

function judgeArguments(input: Json, labels: Labels, warrants: Warrants): readonly Found[] {
  const given = readArguments(input, labels)
  const found = warrants.judge(given)
  // Flags of a call that changes nothing carry nothing out of the house either.
  const mayBeAnybodys = labels.effect === 'changes' ? found.every(isAnybodys) : found.every(isNothing)
  return mayBeAnybodys && !warrants.isAskedFor() ? [unasked, ...found] : found
}

/** It needs no warrant, and matches nothing that is trusted: a flag, a default, a text without words. */
function isAnybodys(found: Found): boolean {
  if ('missing' in found || found.warrant.origin !== 'plain') return false
  const { role, value } = found.argument
  return isNothing(found) || role === 'flag' || wordsIn(fold(String(value))).length === 0
}

const isNothing = ({ argument }: Found): boolean => argument.isDefault || argument.value === ''

/** The call has no arguments, or none that tells who wanted it. */
const unasked: Found = {
  argument: {
    path: '',
    name: '',
    field: '',
    value: '',
    role: undefined,
    kind: undefined,
    isDefault: false,
    isEmptied: false,
  },
  missing: { value: '' },
}

function describeFound(
  found: Found,
  indexes: readonly LogIndex[],
  hide: ((text: string) => string) | undefined,
): FlowFact {
  if (found === unasked) return whole('nothing in it is from you, and you did not ask for it')
  const fact = toFact(found, indexes, hide ?? String)
  if (hide) return fact
  const { value: _value, around: _around, ...rest } = fact
  return rest
}

/** What concerns the call and not one of its arguments. */
function wholeFacts(
  { name }: ToolDeclaration,
  { destroys }: Labels,
  mode: 'warrants' | 'strict',
  declared: ReadonlyMap<string, unknown> | undefined,
): FlowFact[] {
  const facts: FlowFact[] = []
  if (mode === 'strict') facts.push(whole('untrusted text was read before it, and this agent is strict'))
  if (destroys) facts.push(whole('it destroys something, and untrusted text was read before it'))
  if (declared && !declared.has(name))
    facts.push(whole('the model did not name this tool before it read untrusted text'))
  return facts
}

function whole(why: string): FlowFact {
  return { argument: '', warranted: false, origin: 'unknown', why }
}

// ---- calls of a program ----------------------------------------------------------------------------------------------

function taints(
  log: FlowLog,
  { name, outcome }: FlowLog['nested'][number]['result'],
  options: IndexOptions,
): boolean {
  return hasRun(outcome) && !isTrustedResult(labelsFor(log, name, options), outcome)
}

/** The results that the same program had before: they are in no entry. */
function readNested(
  memory: Memory,
  nested: FlowLog['nested'],
  log: FlowLog,
  options: IndexOptions,
  { user }: LogIndex,
): LogIndex {
  const first = nested[0]?.call
  if (memory.nested?.of !== first || memory.nested?.index.user !== user)
    memory.nested = { of: first, index: new LogIndex(options, { user }), seen: new Set() }
  const { index, seen } = memory.nested as NonNullable<Memory['nested']>
  for (const { call, result } of nested) {
    if (seen.has(call.id)) continue
    seen.add(call.id)
    index.addResult(call, result, labelsFor(log, call.name, options), true)
  }
  return index
}
