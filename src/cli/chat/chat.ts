// The conversation in a terminal: a line is a message or a command, a message is a turn, and Ctrl-C ends the turn and not
// the program. It reaches the server only through the public client, as any application would.

import { unfold } from '../../client/fold.ts'
import {
  type AapClient,
  AapError,
  type AgentInfo,
  type Content,
  type Permission,
  pendingCalls,
  type RunTurnOptions,
  type SessionModels,
  type ToolCall,
  type ToolQuestion,
  type TurnEvent,
  textOfContent,
  type Watched,
} from '../../client/index.ts'
import type { ForeseenVerdict } from '../../language/policy.ts'
import { printable } from '../../lib/text/index.ts'
import { UsageError } from '../command.ts'
import type { Style, Styles } from '../style.ts'
import { sayAside, showTurns } from './aside.ts'
import { closingLine, isExpected, lastText } from './closing.ts'
import { type ReadPosition, whileFollowing } from './follow.ts'
import { askForm } from './form.ts'
import { createSession, localToolSpecs, localTools, toolRefs } from './local-tools.ts'
import { askPermission } from './permission.ts'
import { Gone, TurnQuestions, Withdrawn } from './questions.ts'
import { ChatResources } from './resources.ts'
import type { Terminal } from './terminal.ts'
import { toolVerdict, verdictShown } from './tool-verdict.ts'
import { TurnView } from './turn-view.ts'
import { runWhenFree } from './when-free.ts'

/** As /help lists them. */
const chatCommands: readonly [string, string][] = [
  ['/new', 'start a new session'],
  ['/history', 'what was said so far'],
  ['/sessions', 'the latest sessions'],
  ['/use <id>', 'go on with one of them'],
  ['/tools', 'what the agent can use'],
  ['/model [name]', 'the models, or go on with one of them'],
  ['/resources', 'what the servers of the agent have to attach'],
  ['/attach <uri>', 'send one of them with the next message'],
  ['/prompts', 'the prompts of the servers: say one with /server:name'],
  ['Enter', 'while a turn runs: say something to it, /queue, /interrupt or /stop a call'],
  ['/quit', 'leave (or Ctrl-C, Ctrl-D)'],
]

export type ChatOptions = {
  client: AapClient
  terminal: Terminal
  styles: Styles
  /** All agents of the server. A session may belong to any of them. */
  agents: readonly AgentInfo[]
  agent: AgentInfo
  /** Tools of an agent that run without asking, as far as that is known here. */
  trusted(agent: string): ReadonlySet<string>
  /** What rules say about the tools of an agent, where that is known. */
  verdicts(agent: string): ReadonlyMap<string, ForeseenVerdict>
  /** A session to go on with. */
  session?: string
  /** The command that continues here, without the session. */
  again: string
  /** New lines of the server's log, if they are known here. */
  troubles(): string[]
}

export class Chat {
  readonly #options: ChatOptions
  readonly #view: TurnView
  readonly #resources: ChatResources
  #agent: AgentInfo
  #trusted: ReadonlySet<string>
  #session: string | undefined
  /** The person said "always" since the last turn, so the next turn changes the settings. */
  #trustChanged = false
  /** Something was typed while the turn ran. */
  #saidAside = false
  /** The last event of a session that was read here. */
  #read: ReadPosition = { session: '', seq: 0 }

  constructor(options: ChatOptions) {
    this.#options = options
    this.#agent = options.agent
    this.#trusted = options.trusted(options.agent.name)
    const { terminal, styles } = options
    this.#resources = new ChatResources(options.client, styles, text => terminal.write(text))
    this.#view = new TurnView(
      text => terminal.write(text),
      () => terminal.width,
      styles,
    )
  }

  async run(): Promise<void> {
    const { terminal, styles, session } = this.#options
    if (session !== undefined) await this.#attempt(() => this.#use(session))
    for (;;) {
      const line = await this.#line(`\n${styles.cyan('›')} `)
      if (line === undefined || /^\/(?:quit|exit|q)$/.test(line)) break
      if (line === '') continue
      await this.#attempt(() => (line.startsWith('/') ? this.#command(line) : this.#say(line)))
    }
    terminal.write(styles.dim(`Bye.${this.#wayBack()}\n`))
  }

  async #say(line: string): Promise<void> {
    this.#session ??= await this.#create()
    const content = await this.#resources.take(this.#session, line)
    if (content === undefined) return
    await this.#turn({ messages: [{ role: 'user', content }] })
    await this.#nextTurns()
  }

  #wayBack(): string {
    if (this.#session === undefined) return ''
    return ` Go on later with: ${printable(this.#options.again, 300)} --session ${printable(this.#session, 80)}`
  }

  /** A line that ends in a backslash goes on in the next. */
  async #line(prompt: string): Promise<string | undefined> {
    const { terminal, styles } = this.#options
    let text = ''
    for (;;) {
      const line = await terminal.ask(text === '' ? prompt : styles.cyan('… '), { remember: true })
      if (line === undefined) return undefined
      if (!line.endsWith('\\')) return (text + line).trim()
      text += `${line.slice(0, -1)}\n`
    }
  }

  /** An error in one line does not end the conversation. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Gone) {
        this.#view.tell('It waits for an answer.', this.#options.styles.yellow)
        return
      }
      if (error instanceof Withdrawn) {
        const words =
          'The turn was continued elsewhere; nothing was sent from here. /history shows it, /use <id> answers what still waits.'
        this.#view.tell(words, this.#options.styles.yellow)
        return
      }
      if (!isExpected(error)) throw error
      this.#view.tell(error.message, this.#options.styles.red)
      // Nothing of the refused request was recorded, so the question is still open.
      if (error instanceof AapError && error.code === 'invalid_edit')
        await this.#attempt(() => this.#answerPending())
    }
  }

  // ---- turns -----------------------------------------------------------------------------------------------

  async #turn(start: Pick<RunTurnOptions, 'messages' | 'pending'>): Promise<void> {
    const { client, terminal, styles } = this.#options
    this.#session ??= await this.#create()
    const sessionId = this.#session
    const controller = new AbortController()
    const interrupt = (): void => controller.abort()
    const questions = new TurnQuestions(
      (call, withdrawn) => terminal.pause(interrupt, () => this.#permission(call, withdrawn, controller)),
      words => this.#view.say(`  ${styles.yellow(words)}`),
    )
    controller.signal.addEventListener('abort', () => void questions.end())
    this.#view.end()
    terminal.write('\n')
    const overrides = this.#trustChanged ? { agent: { tools: toolRefs(this.#agent, this.#trusted) } } : {}
    this.#trustChanged = false
    const trusted = this.#trusted
    const calls = new Map<string, ToolCall>()
    const options = {
      sessionId,
      ...start,
      overrides,
      tools: localTools,
      signal: controller.signal,
      onEvent: (event: TurnEvent) => {
        if (event.event === 'tool_call') calls.set(event.toolCallId, event)
        questions.show(() => this.#view.take(event))
        if (event.event === 'tool_call') questions.called(event)
      },
      onResult: (call: ToolCall, content: Content) =>
        questions.show(() => this.#view.result(call.toolCallId, content, 'ran here')),
      onPermission: (call: ToolCall) => questions.permission(call),
      onQuestion: (asked: ToolQuestion) => terminal.pause(interrupt, () => askForm(terminal, asked)),
    }
    const stillAtWork = styles.yellow('It is still at work on what was asked before. Ctrl-C cancels that.')
    const waits = (): void => this.#view.say(`  ${stillAtWork}`)
    const result = await terminal
      .busy(
        interrupt,
        () =>
          terminal.spin(
            () => this.#view.awaited,
            () => this.#view.progress,
            () => this.#followed(sessionId, questions, () => runWhenFree(client, options, waits)),
          ),
        () => questions.aside(() => this.#aside(sessionId, interrupt, calls)),
      )
      .catch((error: unknown) => {
        // The request was refused, and an "always" in it with it: ask again.
        this.#trusted = trusted
        throw error
      })
    const troubles = this.#options.troubles()
    for (const words of troubles) this.#view.tell(words, styles.red)
    if (result.stopReason === 'end_turn' && lastText(result) === '') this.#view.tell('(no words)', styles.dim)
    else if (result.stopReason !== 'error' || troubles.length === 0)
      this.#view.tell(closingLine(result), styles.yellow)
    this.#view.end()
  }

  /** Enter was pressed while the turn runs. Ctrl-C in the line ends the turn. */
  #aside(session: string, interrupt: () => void, calls: ReadonlyMap<string, ToolCall>): Promise<void> {
    const { client, terminal, styles } = this.#options
    return terminal.pause(interrupt, async () => {
      this.#view.rest()
      const line = await terminal.ask(`  ${styles.cyan('steer ›')} `)
      if (line === undefined) interrupt()
      const words = line === undefined ? '' : await sayAside({ client, session, calls }, line.trim())
      if (words !== '') this.#saidAside = true
      if (words !== '') terminal.write(`  ${styles.dim(words)}\n`)
    })
  }

  /** Messages that waited have started further turns: they are shown once they are whole, up to where an answer is needed. */
  async #nextTurns(): Promise<void> {
    const { client, terminal } = this.#options
    const session = this.#session
    if (!this.#saidAside || session === undefined) return
    this.#saidAside = false
    const stop = (): void => void client.cancel(session, { withdraw: true }).catch(() => {})
    await terminal.busy(stop, () => showTurns(client, this.#read, event => this.#view.take(event)))
    this.#view.end()
    await this.#answerPending()
  }

  /** While `work` runs, reads the session's events: what tools report, and permissions that are needed. */
  #followed<Result>(session: string, questions: TurnQuestions, work: () => Promise<Result>): Promise<Result> {
    if (this.#read.session !== session) this.#read = { session, seq: 0 }
    const take = (watched: Watched): void => {
      if ('delta' in watched) this.#view.report(watched.delta)
      else questions.take(watched.event)
    }
    const ended = async (): Promise<Result> => {
      try {
        return await work()
      } finally {
        await questions.end()
      }
    }
    questions.listen()
    return whileFollowing(this.#options.client, this.#read, take, ended, () => questions.silent())
  }

  async #permission(call: ToolCall, withdrawn: AbortSignal, turn: AbortController): Promise<Permission> {
    const { terminal, styles } = this.#options
    if (turn.signal.aborted) return false
    withdrawn.throwIfAborted()
    if (this.#trusted.has(call.name)) return true
    this.#view.rest()
    const answer = await askPermission(call, terminal, styles, withdrawn)
    if (!answer && withdrawn.aborted && !turn.signal.aborted) {
      this.#view.say(`  ${styles.yellow((withdrawn.reason as Withdrawn).message)}`) // no other reason is given
      throw withdrawn.reason
    }
    terminal.write('\n')
    if (!answer) {
      if (terminal.ended) throw new Gone()
      turn.abort()
      return false
    }
    if (answer.always) {
      this.#trusted = new Set([...this.#trusted, call.name])
      this.#trustChanged = true
    }
    return answer.permission
  }

  #create(): Promise<string> {
    return createSession(this.#options.client, this.#agent, this.#trusted)
  }

  // ---- commands --------------------------------------------------------------------------------------------

  async #command(line: string): Promise<void> {
    const { terminal, styles } = this.#options
    const [name, word] = line.split(/\s+/)
    switch (name) {
      case '/new':
        this.#session = undefined
        terminal.write(`  ${styles.dim('The next message starts a new session.')}\n`)
        break
      case '/history':
        await this.#history()
        break
      case '/sessions':
        await this.#sessions()
        break
      case '/model':
        await this.#model(word)
        break
      case '/tools':
        this.#tools()
        break
      case '/use':
        if (word === undefined) terminal.write('  Say which: /use <id>\n')
        else await this.#use(word)
        break
      case '/help':
        for (const [command, words] of chatCommands)
          terminal.write(`  ${command.padEnd(13)}  ${styles.dim(words)}\n`)
        break
      default:
        await this.#say(line)
    }
  }

  async #model(name: string | undefined): Promise<void> {
    const { client, terminal, styles } = this.#options
    this.#session ??= await this.#create()
    if (name === undefined) {
      const { model, models } = await this.#models(this.#session)
      if (models.length === 0)
        terminal.write(`  ${styles.dim('There are no models in the configuration of the server.')}\n`)
      for (const each of models)
        terminal.write(`  ${printable(each, 80)}${each === model ? styles.green(' ●') : ''}\n`)
      return
    }
    await this.#models(this.#session)
    await client.setModel(this.#session, name)
    terminal.write(`  ${styles.dim(`From the next message on: ${printable(name, 80)}.`)}\n`)
  }

  async #models(session: string): Promise<SessionModels> {
    try {
      return await this.#options.client.getModels(session)
    } catch (error) {
      if (!(error instanceof AapError && error.status === 404)) throw error
      throw new UsageError(
        'This server does not let its clients choose a model: it is no Turnwire, or an older one.',
      )
    }
  }

  /** Continues a session where it stopped, also in the middle of a turn. */
  async #use(id: string): Promise<void> {
    const { client, terminal, styles } = this.#options
    const { sessionId, agent } = await client.getSession(id)
    this.#session = sessionId
    this.#meet(agent.name)
    terminal.write(`  ${styles.dim(`Going on with ${printable(sessionId, 80)}.`)}\n`)
    await this.#answerPending()
  }

  /** A session that was begun elsewhere may have another agent. */
  #meet(name: string): void {
    const found = this.#options.agents.find(agent => agent.name === name)
    if (!found || found.name === this.#agent.name) return
    this.#agent = found
    this.#trusted = this.#options.trusted(found.name)
    this.#trustChanged = false
  }

  async #answerPending(): Promise<void> {
    const { client } = this.#options
    if (this.#session === undefined) return
    const { tools = [] } = await client.getSession(this.#session)
    const { client: own, server } = pendingCalls(await client.getHistory(this.#session), tools)
    if (own.length + server.length === 0) return
    this.#view.know([...own, ...server])
    // Why they ask stands in events that may have been read before.
    this.#read = { session: this.#session, seq: 0 }
    try {
      await this.#turn({ pending: [...own, ...server] })
    } catch (error) {
      // The calls were running when their server went away, and were settled when the session was resumed.
      if (!(error instanceof AapError && error.code === 'call_settled')) throw error
    }
  }

  async #history(): Promise<void> {
    const { client, terminal, styles } = this.#options
    if (this.#session === undefined) {
      terminal.write(`  ${styles.dim('Nothing was said yet.')}\n`)
      return
    }
    for (const message of await client.getHistory(this.#session)) {
      if (message.role === 'user' || message.role === 'system')
        this.#view.say(
          `${styles.cyan('›')} ${printable(textOfContent(message.content), { multiline: true })}`,
        )
      else for (const event of unfold({ stopReason: 'end_turn', messages: [message] })) this.#view.take(event)
    }
    this.#view.end()
  }

  async #sessions(): Promise<void> {
    const { client, terminal, styles } = this.#options
    let count = 0
    for await (const { sessionId, agent } of client.listSessions()) {
      const here = sessionId === this.#session ? styles.green(' ●') : ''
      terminal.write(`  ${printable(sessionId, 80)}  ${styles.dim(printable(agent.name, 80))}${here}\n`)
      count += 1
      if (count === 20) break
    }
    if (count === 0) terminal.write(`  ${styles.dim('There are none yet.')}\n`)
  }

  #tools(): void {
    const { terminal, styles } = this.#options
    const tools = this.#agent.tools ?? []
    const longest = Math.max(...[...tools, ...localToolSpecs].map(({ name }) => printable(name, 80).length))
    const line = (name: string, trust: string, style: Style, description: string): void => {
      const shown = printable(name, 80).padEnd(Math.min(longest, 24))
      const room = Math.min(160, Math.max(20, terminal.width - shown.length - 21))
      terminal.write(
        `  ${styles.bold(shown)}  ${style(trust.padEnd(14))}  ${styles.dim(printable(description, room))}\n`,
      )
    }
    const verdicts = this.#options.verdicts(this.#agent.name)
    const paint = { allow: styles.green, ask: styles.yellow, deny: styles.red }
    let isOpen = false
    for (const { name, description } of tools) {
      const { verdict, isCertain } = toolVerdict(verdicts.get(name), this.#trusted.has(name))
      isOpen ||= !isCertain
      line(name, `${verdictShown[verdict]}${isCertain ? '' : ' *'}`, paint[verdict], description)
    }
    if (isOpen) terminal.write(`  ${styles.dim('* A rule may decide otherwise about a single call.')}\n`)
    for (const { name, description } of localToolSpecs) line(name, 'runs here', styles.cyan, description)
  }
}
