// Encodes the calls of a session: what a client is told of each, from its first delta to its outcome. A pure fold, and the
// part of encode.ts that knows calls. A call of the plan tool is shown as a plan.
import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk'
import type { Tool } from '../../engine/index.ts'
import type { CallForm, CallPart, Outcome } from '../../language/calls.ts'
import type { Delta } from '../../language/events.ts'
import type { Report } from '../../language/report.ts'
import type { Shown, ShownPermission, ShownQuestion } from '../../language/show.ts'
import { findSuspicions } from '../../language/suspicions.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { printableEnds } from '../../lib/text/index.ts'
import { encodeOutcome, encodeRawOutput, encodeToolCall, type ShownFields } from './encode-content.ts'
import {
  reportContent,
  reportLocations,
  type TerminalUpdate,
  terminalContent,
  terminalOutput,
  terminalUpdates,
} from './encode-report.ts'
import type { Abilities } from './peer.ts'
import { decodePlan, planName } from './plan.ts'

/** A call that waits for a person. */
export type WaitingApproval = {
  callId: string
  name: string
  text: string
  argsHash: string
  toolHash: string
  /** It runs in a session of another agent, where it is remembered too. */
  elsewhere: boolean
  fields: ShownFields
  /** Why it asks, and what it would change. */
  content: ToolCallContent[]
}

type EncodedCall = {
  id: string
  name: string
  form: CallForm
  /** Undefined while the arguments are still coming. */
  text?: string
  announced: boolean
  elsewhere: boolean
  output: string
  /** The tool's report so far. */
  report: Report
  /** Terminals whose output was streamed. */
  streamed: Set<string>
  approval?: ShownPermission | undefined
}

type CallFields = Partial<
  Omit<Extract<SessionUpdate, { sessionUpdate: 'tool_call' }>, 'sessionUpdate' | 'toolCallId'>
>

/** `folder`: where relative paths of its input lead. Absent: that is not known. */
export type PlacedTool = ToolDeclaration & Pick<Tool, 'folder'>

type CallUpdate = SessionUpdate | TerminalUpdate
type CallDelta = Extract<Delta, { callId: string }>

const answeredElsewhere = 'This editor cannot ask you. Answer it elsewhere, for example in the console.'

/** Characters of a running call's output that are shown. */
const outputTail = 4096

export class CallEncoder {
  readonly #cwd: string
  readonly #showsTerminals: boolean
  /** The kinds of questions that the client can put to its user. */
  readonly #elicitation: Abilities['elicitation']
  readonly #tool: (name: string) => PlacedTool | undefined
  readonly #calls = new Map<string, EncodedCall>()
  /** By call: the terminal of the client in which it runs, and which shows its output. */
  readonly #terminals = new Map<string, string>()
  /** False: the client sees none of the updates. */
  shown = true

  constructor(
    cwd: string,
    { showsTerminals, elicitation }: Pick<Abilities, 'showsTerminals' | 'elicitation'>,
    tool: (name: string) => PlacedTool | undefined,
  ) {
    this.#cwd = cwd
    this.#showsTerminals = showsTerminals
    this.#elicitation = elicitation
    this.#tool = tool
  }

  get approvals(): WaitingApproval[] {
    return [...this.#calls.values()].flatMap(call => {
      const { id: callId, name, text, approval, elsewhere } = call
      if (!approval || text === undefined) return []
      const { argsHash, toolHash, reason, preview = {} } = approval
      const described = this.#describe(call)
      const locations = reportLocations(preview, this.#workspaceFolder(call))
      const fields = locations.length > 0 ? { ...described, locations } : described
      const why = reason === undefined ? [] : [textContent(reason)]
      const content = [
        ...why,
        ...suspicionContent(described.rawInput),
        ...reportContent(preview, this.#workspaceFolder(call)),
      ]
      return [{ callId, name, text, argsHash, toolHash, elsewhere, fields, content }]
    })
  }

  show(shown: Extract<Shown, { callId: string }>): CallUpdate[] {
    const call = this.#calls.get(shown.callId)
    if (!call) return []
    switch (shown.type) {
      case 'waits':
        if (shown.for === 'answer') return this.#unasked(call, shown.question)
        if (shown.for !== 'permission') return []
        call.approval = shown.asked
        if (!shown.asked.again) return []
        call.text = shown.asked.again.text
        return this.#update(call, { status: 'pending', ...this.#arguments(call) })
      case 'decided':
        call.approval = undefined
        return []
      case 'edited':
        call.text = shown.edit.text
        return this.#update(call, this.#arguments(call))
      case 'started':
        return this.#update(call, { status: 'in_progress', ...this.#terminalContent(call) })
      case 'result':
        return this.settled(call.id, shown.outcome)
      default:
        return []
    }
  }

  /** A question that this client cannot be asked is shown with its call, so that its user knows what the call waits for. */
  #unasked(call: EncodedCall, { message, url }: ShownQuestion): CallUpdate[] {
    const isAsked = this.#elicitation.includes(url === undefined ? 'form' : 'url')
    if (isAsked || this.#terminals.has(call.id)) return []
    const words = [message, ...(url === undefined ? [] : [url]), answeredElsewhere].join('\n\n')
    return this.#update(call, {
      content: [...this.#changes(call), textContent(words), ...suspicionContent([message, url ?? ''])],
    })
  }

  /** `announce`: a call is shown before its arguments are whole. */
  delta(delta: CallDelta, announce: boolean): CallUpdate[] {
    if (delta.type === 'call.opened') {
      const call = this.#open(delta.callId, delta.name, delta.form)
      return announce ? this.#update(call, {}) : []
    }
    const call = this.#calls.get(delta.callId)
    if (!call || delta.type === 'arguments' || this.#terminals.has(call.id)) return []
    if (delta.type === 'report') return this.#reported(call, delta.report)
    if (delta.type === 'output' && delta.terminal !== undefined && this.#showsTerminals)
      return this.#terminalOutput(call, delta)
    if (delta.type === 'output') call.output = (call.output + delta.text).slice(-outputTail).toWellFormed()
    const text = delta.type === 'output' ? call.output : progressText(delta)
    return text === '' ? [] : this.#update(call, { content: [...this.#changes(call), textContent(text)] })
  }

  /** The files, the differences and the terminals of a call that runs. */
  #reported(call: EncodedCall, report: Report): CallUpdate[] {
    call.report = { ...call.report, ...report }
    const locations = reportLocations(call.report, this.#workspaceFolder(call))
    const content = this.#changes(call)
    const updates = this.#update(call, {
      ...(locations.length > 0 && { locations }),
      ...(content.length > 0 && { content }),
    })
    // A client must know a terminal before a call names it.
    return report.terminals ? [...this.#terminalUpdates(call), ...updates] : updates
  }

  #changes(call: EncodedCall): ToolCallContent[] {
    const { id, report } = call
    const terminals = this.#showsTerminals ? terminalContent(id, report) : []
    return [...reportContent(report, this.#workspaceFolder(call)), ...terminals]
  }

  #terminalUpdates({ id, name, report, streamed }: EncodedCall): TerminalUpdate[] {
    const isShown = this.#showsTerminals && this.shown && name !== planName
    return isShown ? terminalUpdates(id, report, streamed) : []
  }

  #terminalOutput(call: EncodedCall, delta: Extract<Delta, { type: 'output' }>): CallUpdate[] {
    if (delta.terminal !== undefined) call.streamed.add(delta.terminal)
    const update = this.shown ? terminalOutput(delta) : undefined
    return update ? [update] : []
  }

  /** The call of a whole answer, or one that the call `parent` made. `elsewhere`: in a session of another agent. */
  asked(part: CallPart, parent?: string, elsewhere = false): SessionUpdate[] {
    const call = this.#calls.get(part.id) ?? this.#open(part.id, part.name, part.form)
    call.text = part.text
    call.elsewhere = elsewhere
    const within = parent === undefined ? {} : { _meta: { 'turnwire/parentToolCallId': parent } }
    return this.#update(call, call.announced ? this.#arguments(call) : within)
  }

  settled(callId: string, outcome: Outcome): CallUpdate[] {
    const call = this.#calls.get(callId)
    if (!call) return []
    const inTerminal = this.#terminals.delete(callId)
    this.#calls.delete(callId)
    if (call.name === planName) {
      const entries = outcome.kind === 'ok' ? decodePlan(call.text ?? '') : undefined
      return entries ? [{ sessionUpdate: 'plan', entries }] : []
    }
    call.report = outcome.report ?? {}
    const locations = reportLocations(call.report, this.#workspaceFolder(call))
    const terminals = this.#showsTerminals ? terminalContent(call.id, call.report) : []
    const content = terminals.length > 0 ? this.#changes(call) : this.#outcomeContent(call, outcome)
    return [
      ...this.#terminalUpdates(call),
      ...this.#update(call, {
        status: outcome.kind === 'ok' ? 'completed' : 'failed',
        rawOutput: encodeRawOutput(outcome),
        ...(outcome.details !== undefined && { _meta: { 'turnwire/details': outcome.details } }),
        ...(locations.length > 0 && { locations }),
        // Other content would replace the terminal.
        ...(!inTerminal && { content }),
      }),
    ]
  }

  #outcomeContent(call: EncodedCall, outcome: Outcome): ToolCallContent[] {
    return encodeOutcome(outcome, this.#tool(call.name), this.#workspaceFolder(call))
  }

  /** The folder for files that the tool itself reports: they are shown even if its own folder is not known. */
  #workspaceFolder({ name }: EncodedCall): string {
    return this.#tool(name)?.folder ?? this.#cwd
  }

  /** A call runs in a terminal of the client. */
  terminal(callId: string, terminalId: string): SessionUpdate[] {
    this.#terminals.set(callId, terminalId)
    const call = this.#calls.get(callId)
    return call ? this.#update(call, this.#terminalContent(call)) : []
  }

  /** Calls that the model began to ask for, and whose arguments will never be whole. */
  dropUnfinished(): SessionUpdate[] {
    const content = [textContent('The model did not finish asking for this.')]
    return [...this.#calls.values()].flatMap(call => {
      if (call.text !== undefined) return []
      this.#calls.delete(call.id)
      return call.announced ? this.#update(call, { status: 'failed', content }) : []
    })
  }

  #open(id: string, name: string, form: CallForm): EncodedCall {
    const call: EncodedCall = {
      id,
      name,
      form,
      announced: false,
      elsewhere: false,
      output: '',
      report: {},
      streamed: new Set(),
    }
    this.#calls.set(id, call)
    return call
  }

  #describe(call: EncodedCall): ShownFields {
    const tool = this.#tool(call.name)
    return encodeToolCall(call, tool, tool ? tool.folder : this.#cwd)
  }

  /** The fields that are known once the arguments are whole. */
  #arguments(call: EncodedCall): CallFields {
    const { title, rawInput, locations } = this.#describe(call)
    return { title, rawInput, ...(locations && { locations }) }
  }

  #terminalContent({ id }: EncodedCall): CallFields {
    const terminalId = this.#terminals.get(id)
    return terminalId === undefined ? {} : { content: [{ type: 'terminal', terminalId }] }
  }

  /** The first update of a call announces it whole. */
  #update(call: EncodedCall, fields: CallFields): SessionUpdate[] {
    if (call.name === planName || !this.shown) return []
    const toolCallId = call.id
    if (!call.announced) {
      call.announced = true
      const described = { status: 'pending' as const, ...this.#describe(call), ...fields }
      return [{ sessionUpdate: 'tool_call', toolCallId, ...described }]
    }
    const isChanged = Object.keys(fields).length > 0
    return isChanged ? [{ sessionUpdate: 'tool_call_update', toolCallId, ...fields }] : []
  }
}

/** Editors show arguments as they are. Text that is easy to misread gets a warning and is spelled out. */
function suspicionContent(input: Json | undefined): ToolCallContent[] {
  const words = input === undefined ? [] : findSuspicions(input)
  if (words.length === 0) return []
  const spelled = printableEnds(JSON.stringify(input), { maxChars: 4_000 })
  return [textContent([...words, `The arguments, with hidden characters spelled out: ${spelled}`].join('\n'))]
}

export function textContent(text: string): { type: 'content'; content: { type: 'text'; text: string } } {
  return { type: 'content', content: { type: 'text', text } }
}

function progressText({ message = '', done, total }: Extract<Delta, { type: 'progress' }>): string {
  const count = done === undefined ? '' : total === undefined ? String(done) : `${done} of ${total}`
  return [count, message].filter(words => words !== '').join(': ')
}
