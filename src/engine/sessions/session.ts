// One session in memory: the only place where its state changes. A command is decided and applied synchronously, so two
// commands never interleave; durability is awaited afterwards. If the store refuses a write, memory is ahead of the
// log: the session is dropped and read again when it is needed next.
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { Event, Grant, Settings } from '../../language/events.ts'
import type { CallSession, WorkingSessions } from '../calls/call-session.ts'
import { declaredFor } from '../calls/session-tools.ts'
import { Feed } from '../log/feed.ts'
import { Journal } from '../log/journal.ts'
import { LogSigner } from '../log/sign-log.ts'
import { snapshotWriter } from '../log/snapshots.ts'
import type { RequestKey } from '../ports/boundary.ts'
import type {
  Agent,
  AppContext,
  EnginePorts,
  Limits,
  ModelMemory,
  ModelRequest,
  SessionStatus,
  Tool,
} from '../ports/index.ts'
import type { Context, DirectCall, Say } from '../rules/commands.ts'
import {
  decideConfigure,
  decideDirectCall,
  decideGrant,
  decideRespond,
  decideRevoke,
  decideSay,
} from '../rules/decide.ts'
import { messageState } from '../rules/decide-message.ts'
import { decideCancel } from '../rules/decide-turn.ts'
import { agentFor } from '../rules/gone-agent.ts'
import { IdenticalCalls } from '../rules/identical.ts'
import { limitsFor, refuseIfFull } from '../rules/limits.ts'
import { type Action, next } from '../rules/next.ts'
import { type MadeOffer, madeOffer, type Offer } from '../rules/offer.ts'
import { makeRequest, openedOptions } from '../rules/request.ts'
import type { SessionState } from '../rules/state.ts'
import { Deadlines } from '../turn/deadlines.ts'
import { Driver } from '../turn/driver.ts'
import { changeEvents, openings, tellEvents } from '../turn/features.ts'
import { prepareAnswers, refuseWhileRunning } from '../turn/prepare-answers.ts'
import type { Answers, CommandedSession, Taken } from '../turn/turn-session.ts'
import type { Attachment } from './attachment.ts'
import type { Claim, SessionHome } from './session-home.ts'

const noAttachments: readonly Attachment[] = []
const noTools: readonly Tool[] = []
const nobody: readonly (() => void)[] = []

export class Session implements CommandedSession {
  readonly id: string
  readonly state: SessionState
  /** The agent that has the conversation now, and what a turn may use with it. */
  agent: Agent
  limits: Limits
  readonly feed: Feed
  readonly ports: EnginePorts
  readonly driver: Driver
  readonly #modelMemory: ModelMemory = {}
  /** Made when a call is judged; most open sessions wait for something. */
  admissions: CallSession['admissions']
  flowMemory: CallSession['flowMemory']
  /** Context for tools from the caller of the current turn. Gone after a restart. */
  requestApp: Partial<AppContext> | undefined
  readonly #id: Context['id']
  readonly #journal: Journal
  readonly snapshots: ReturnType<typeof snapshotWriter>
  readonly signer: LogSigner | undefined
  readonly #home: SessionHome
  #attached = noTools
  /** Its own tools. */
  #added = noTools
  /** Attached and own tools: the same list while nothing changes, so that offers made of it can be reused. */
  #besides = noTools
  #offer: MadeOffer | undefined
  #identical: { turn: string; calls: IdenticalCalls } | undefined
  stopping = false
  lost = false
  #deadlines: Deadlines | undefined
  /** It left memory while it was at rest. The next command or reader opens it again. */
  released = false
  /** It was recovered, and nothing has been written since. */
  unproven = false
  /** About the JSON of its log, and of what is kept beside it. */
  bytes: number
  /** Of its writer, which is this copy. */
  readonly epoch: number
  blobBytes: number
  /** Commands and attachments that need this copy to stay in memory. */
  uses = 0
  attachments = noAttachments
  /** Told whenever something was recorded. */
  #watching = nobody

  constructor(ports: EnginePorts, agent: Agent, state: SessionState, claim: Claim, home: SessionHome) {
    this.bytes = claim.bytes
    this.epoch = claim.epoch
    this.blobBytes = claim.blobBytes
    this.ports = ports
    this.agent = agent
    this.id = state.id
    this.state = state
    this.limits = limitsFor(agent, state)
    this.#home = home
    this.feed = new Feed(state.seq, state.status, error =>
      ports.log('error', 'A watcher failed and was removed.', {
        session: state.id,
        error: wordsOf(error),
      }),
    )
    this.signer = ports.receipts && new LogSigner(this, ports.receipts)
    this.snapshots = snapshotWriter(this, claim.snapshot)
    this.#journal = new Journal(this, claim, () => {
      if (home.listChanges.watchers.size > 0) home.listChanges.changed(this)
    })
    this.driver = new Driver(this)
    this.#id = prefix => ports.world.id(prefix)
    for (const opened of openings) opened(this)
  }

  get subSessions(): WorkingSessions {
    return this.#home.subSessions
  }

  get status(): SessionStatus {
    return this.state.status
  }

  /** Nothing is happening in it and nobody needs this copy to stay. Readers can follow it in the store. */
  get isIdle(): boolean {
    const { uses, state, driver } = this
    return (
      uses === 0 &&
      state.status !== 'running' &&
      driver.callsRunning === 0 &&
      this.clean &&
      !this.signer?.isDue
    )
  }

  /** Only while it is idle. Its readers are told. */
  release(): void {
    this.released = true
    this.#deadlines?.stop()
    this.feed.retire()
  }

  /** Made for what waits with a deadline. */
  get deadlines(): Deadlines {
    this.#deadlines ??= new Deadlines(this)
    return this.#deadlines
  }

  get lostBecause(): unknown {
    return this.#journal.lost
  }

  get context(): Context {
    const { world, version } = this.ports
    return { agent: this.agent, now: world.now(), id: this.#id, version }
  }

  get offer(): Offer {
    const { agent } = this
    const { settings, turn } = this.state
    const clientOnly = turn?.ask?.clientOnly === true
    const attached = this.#besides
    const made = this.#offer
    const isSame =
      made?.agent === agent &&
      made.tools === agent.tools &&
      made.settings === settings &&
      made.attached === attached &&
      made.clientOnly === clientOnly
    if (isSame) return made.offer
    this.#offer = madeOffer(agent, settings, attached, clientOnly)
    return this.#offer.offer
  }

  /** Offers tools that live as long as a connection, such as an editor's. They pass the same gate; a restart ends them. */
  attach(tools: readonly Tool[]): void {
    this.#attached = tools
    this.#besides = this.#added.length === 0 ? tools : [...tools, ...this.#added]
  }

  addTool(name: string, make: () => Tool): void {
    if (this.#added.some(tool => tool.name === name)) return
    this.#added = [...this.#added, make()]
    this.attach(this.#attached)
  }

  get attached(): readonly Tool[] {
    return this.#attached
  }

  /** The repeated calls of the current turn. */
  get identicalCalls(): IdenticalCalls {
    const turn = this.state.turn?.id ?? ''
    if (this.#identical?.turn !== turn) this.#identical = { turn, calls: new IdenticalCalls() }
    return this.#identical.calls
  }

  /** The next request to the model. */
  request(): ModelRequest {
    const { id, view, turn } = this.state
    const { offer } = this
    const declared = offer.isPlain ? { tools: offer.declarations } : declaredFor(this)
    const offered = { ...declared, options: this.options() }
    const source = {
      session: id,
      history: view,
      ask: turn?.ask ?? {},
      ...(turn?.called && { called: turn.called }),
    }
    const request = makeRequest(this.agent, source, offered)
    request.memory = this.#modelMemory
    return request
  }

  next(): Action {
    return next(this.state, this.limits, this.bytes + this.blobBytes)
  }

  /** With opened secrets and defaults. For tools and models only. */
  options(): Record<string, string> {
    return openedOptions(this.agent, this.state.settings, this.ports.vault)
  }

  // ---- commands ------------------------------------------------------------------------------------------

  say({ app, ...say }: Say & { app?: Partial<AppContext> }): Promise<Taken> {
    this.requestApp = app
    return this.accept(say.request, () => {
      refuseIfFull(this)
      const events = decideSay(this.state, say, this.context)
      this.#stopAsking()
      return events
    })
  }

  call({ tool, ...direct }: Omit<DirectCall, 'form'>): Promise<Taken> {
    const offered = this.offer.byName.get(tool)
    if (!offered)
      throw new TurnwireError('unknown_tool', `Agent "${this.agent.name}" offers no tool named "${tool}".`)
    const { form } = offered.tool.input
    return this.accept(direct.request, () => {
      const events = decideDirectCall(this.state, { ...direct, tool, form }, this.context)
      this.#stopAsking()
      return events
    })
  }

  /** A new turn begins: calls that wait inside a question are stopped. */
  #stopAsking(): void {
    if (this.driver.callsRunning > 0)
      this.driver.abort(new TurnwireError('stopping', 'A new turn began in this session.'))
  }

  /** `afterStop`: refused while the turn still runs, although the calls wait already. */
  async respond(answers: Answers, afterStop = false): Promise<Taken> {
    this.refuseIfGone()
    // A repeated request finds its calls settled, so it is recognised before they are looked at.
    const replayed = answers.request && this.#replayed(answers.request)
    if (replayed) return replayed
    if (afterStop) refuseWhileRunning(this, answers)
    const { blobs, respond } = await prepareAnswers(this, answers)
    for (const blob of blobs) await this.keepBlob(blob)
    return this.accept(answers.request, () => decideRespond(this.state, respond, this.context))
  }

  async configure(settings: Partial<Settings>): Promise<void> {
    this.refuseIfGone()
    refuseIfFull(this)
    await this.save(decideConfigure(this.state, settings, this.context))
  }

  /** Remembers a permission, or a refusal, for calls to come. Gives its id. */
  async grant(grant: Omit<Grant, 'id'>): Promise<string> {
    this.refuseIfGone()
    refuseIfFull(this)
    const given = decideGrant(grant, this.context)
    await this.save([given])
    return given.grant.id
  }

  async revoke(grantId: string, by: string): Promise<void> {
    this.refuseIfGone()
    await this.save(decideRevoke(this.state, grantId, by, this.context))
  }

  /** Ends the turn now, whatever it is doing, and leaves a valid history. */
  async cancel(): Promise<boolean> {
    this.refuseIfGone()
    if (!this.state.turn) {
      // The event that ended it may still be on its way to the store.
      await this.flushed()
      return false
    }
    await this.save(this.driver.interrupt(decideCancel))
    this.driver.wake()
    return true
  }

  /** Records what `decide` gives, once for each request key, and wakes the loop. */
  accept(request: RequestKey | undefined, decide: () => Event[]): Promise<Taken> {
    try {
      this.refuseIfGone()
      const replayed = request && this.#replayed(request)
      if (replayed) return replayed
      const events = decide()
      const first = this.state.seq + 1
      const at = events[0]?.at ?? this.ports.world.now()
      this.ports.world.crashPoint?.('input-decided')
      this.record(events, true)
      const turn = this.state.turn?.id
      const durable = this.#journal.durable()
      this.driver.wake()
      const count = events.length
      return durable.then(() => ({ first, replayed: false, count, at, ...(turn !== undefined && { turn }) }))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** The answer that the same request got before, once that is durable; undefined for a new request. */
  #replayed(request: RequestKey): Promise<Taken> | undefined {
    const before = this.state.requests.get(request.key)
    if (!before) return undefined
    if (before.hash !== request.hash)
      throw new TurnwireError('idempotency_conflict', 'This Idempotency-Key was used for another request.')
    const { seq: first, message: id } = before
    return this.flushed().then(() => {
      const message = id !== undefined && { id, state: messageState(this.state, id) }
      return { first, replayed: true, count: 0, at: 0, ...(message && { message }) }
    })
  }

  // ---- the log -------------------------------------------------------------------------------------------

  /** Applies events now and writes them soon. `deferrable`: they may wait up to the store's `lingerMs` for others. */
  record(events: readonly Event[], deferrable = false): void {
    this.unproven = false
    const changed = changeEvents(this, events)
    this.#journal.record(changed, deferrable)
    const { agent } = this.state
    if (agent !== '' && agent !== this.agent.name) {
      this.agent = agentFor(this.ports, agent, this.state.owner)
      this.limits = limitsFor(this.agent, this.state)
    }
    this.ports.observer?.recorded?.(this, changed)
    tellEvents(this, changed)
    for (const look of this.#watching) look()
  }

  watchRecords(look: () => void): () => void {
    this.#watching = [...this.#watching, look]
    return () => {
      this.#watching = this.#watching.filter(other => other !== look)
    }
  }

  /** Tells them although nothing was recorded: the engine stops. */
  tellWatching(): void {
    for (const look of this.#watching) look()
  }

  /** Records events and waits until they are durable. */
  save(events: readonly Event[]): Promise<void> {
    this.record(events)
    return this.#journal.flushed()
  }

  /** Shows in the store that it could be recovered. Whatever is recorded shows the same. */
  prove(): void {
    if (this.unproven && !this.lost) this.#journal.touch()
    this.unproven = false
  }

  /** Writes deferred events now: the loop rests. */
  flush(): void {
    this.#journal.flush()
  }

  /** Signs the log as far as it can be signed now. */
  async signLog(): Promise<void> {
    if (!this.signer)
      throw new TurnwireError(
        'bad_request',
        'This server signs no logs, so there are no receipts. Set "receipts: true" in the configuration.',
      )
    await this.signer.sign()
    await this.flushed()
  }

  /** Every event of the state is durable. */
  get clean(): boolean {
    return this.#journal.clean
  }

  /** Resolves when every event so far is durable. */
  flushed(): Promise<void> {
    return this.#journal.flushed()
  }

  /** This copy no longer counts: stops everything that runs for it and closes its feed. */
  lose(reason: unknown): void {
    if (this.lost) return
    const why = reason ?? new TurnwireError('internal', 'The session was lost.')
    this.lost = true
    this.#journal.lose(why)
    this.driver.abort(why)
    this.#deadlines?.stop()
    this.signer?.stop()
    for (const attachment of this.attachments) attachment.close()
    this.#home.lost(this, why)
    this.feed.close(why)
  }

  async keepBlob({ name, body }: { name: string; body: string }): Promise<void> {
    this.blobBytes += body.length
    await this.ports.store.putBlob(this.id, name, body, this.epoch)
  }

  refuseIfGone(): void {
    if (this.lost) throw this.#journal.lost
    if (this.stopping) throw new TurnwireError('stopping', 'Turnwire is stopping. Try again in a moment.')
  }
}
