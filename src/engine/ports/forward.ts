// The calls of the boundary as data, and an engine that passes each call on to the engine that its subclass chooses.
// The calls are listed here once, for an engine in another process, on another node, or bound to a caller.
import type {
  BlobAnswer,
  BlobQuery,
  Engine,
  HistoryAnswer,
  HistoryQuery,
  LookUpAnswer,
  LookUpQuery,
  ServerAnswer,
  ServerQuery,
  SessionRef,
} from './boundary.ts'

/** Calls that change nothing, so they may be made again when an answer is lost. */
export const readNames = [
  'describe',
  'fromServers',
  'summary',
  'history',
  'events',
  'blob',
  'list',
  'lookUp',
] as const satisfies readonly (keyof Engine)[]

export const callNames = [
  ...readNames,
  'create',
  'command',
  'report',
  'remove',
] as const satisfies readonly (keyof Engine)[]

export const streamNames = [
  'follow',
  'answerOnce',
  'attach',
  'changes',
] as const satisfies readonly (keyof Engine)[]

export type CallName = (typeof callNames)[number]
export type StreamName = (typeof streamNames)[number]

type Given<Name extends keyof Engine> = Parameters<Engine[Name]>
type Answered<Name extends keyof Engine> = ReturnType<Engine[Name]>

export abstract class ForwardingEngine implements Engine {
  protected abstract forward<Name extends CallName>(name: Name, ...args: Given<Name>): Answered<Name>

  abstract follow(...args: Given<'follow'>): Answered<'follow'>
  abstract answerOnce(...args: Given<'answerOnce'>): Answered<'answerOnce'>
  abstract attach(...args: Given<'attach'>): Answered<'attach'>
  abstract changes(...args: Given<'changes'>): Answered<'changes'>

  describe(): Answered<'describe'> {
    return this.forward('describe')
  }
  fromServers<Query extends ServerQuery>(agent: string, query: Query): Promise<ServerAnswer<Query>> {
    // Here and below: the answer is that of this question.
    return this.forward('fromServers', agent, query) as Promise<ServerAnswer<Query>>
  }
  history<Query extends HistoryQuery>(ref: SessionRef, query: Query): Promise<HistoryAnswer<Query>> {
    return this.forward('history', ref, query) as Promise<HistoryAnswer<Query>>
  }
  blob<Query extends BlobQuery>(ref: SessionRef, query: Query): Promise<BlobAnswer<Query>> {
    return this.forward('blob', ref, query) as Promise<BlobAnswer<Query>>
  }
  lookUp<Query extends LookUpQuery>(query: Query): Promise<LookUpAnswer<Query>> {
    return this.forward('lookUp', query) as Promise<LookUpAnswer<Query>>
  }
  create(...args: Given<'create'>): Answered<'create'> {
    return this.forward('create', ...args)
  }
  command(...args: Given<'command'>): Answered<'command'> {
    return this.forward('command', ...args)
  }
  report(...args: Given<'report'>): Answered<'report'> {
    return this.forward('report', ...args)
  }
  summary(...args: Given<'summary'>): Answered<'summary'> {
    return this.forward('summary', ...args)
  }
  events(...args: Given<'events'>): Answered<'events'> {
    return this.forward('events', ...args)
  }
  list(...args: Given<'list'>): Answered<'list'> {
    return this.forward('list', ...args)
  }
  remove(...args: Given<'remove'>): Answered<'remove'> {
    return this.forward('remove', ...args)
  }
}

/** Calls the function of this name. The arguments are those of that function. */
export function callByName(engine: Engine, name: CallName, args: unknown[]): Promise<unknown> {
  return (engine[name] as (...given: unknown[]) => ReturnType<Engine[CallName]>).call(engine, ...args)
}
