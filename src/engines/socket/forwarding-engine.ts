// An engine that passes everything on: its subclasses say to whom. It writes the boundary's calls out once.
import type { Engine } from '../../engine/index.ts'
import type { CallName } from './protocol.ts'

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
  resources(...args: Given<'resources'>): Answered<'resources'> {
    return this.forward('resources', ...args)
  }
  readResource(...args: Given<'readResource'>): Answered<'readResource'> {
    return this.forward('readResource', ...args)
  }
  prompts(...args: Given<'prompts'>): Answered<'prompts'> {
    return this.forward('prompts', ...args)
  }
  prompt(...args: Given<'prompt'>): Answered<'prompt'> {
    return this.forward('prompt', ...args)
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
  history(...args: Given<'history'>): Answered<'history'> {
    return this.forward('history', ...args)
  }
  events(...args: Given<'events'>): Answered<'events'> {
    return this.forward('events', ...args)
  }
  nextRequest(...args: Given<'nextRequest'>): Answered<'nextRequest'> {
    return this.forward('nextRequest', ...args)
  }
  usage(...args: Given<'usage'>): Answered<'usage'> {
    return this.forward('usage', ...args)
  }
  list(...args: Given<'list'>): Answered<'list'> {
    return this.forward('list', ...args)
  }
  ownerOf(...args: Given<'ownerOf'>): Answered<'ownerOf'> {
    return this.forward('ownerOf', ...args)
  }
  owners(): Answered<'owners'> {
    return this.forward('owners')
  }
  find(...args: Given<'find'>): Answered<'find'> {
    return this.forward('find', ...args)
  }
  remove(...args: Given<'remove'>): Answered<'remove'> {
    return this.forward('remove', ...args)
  }
  blob(...args: Given<'blob'>): Answered<'blob'> {
    return this.forward('blob', ...args)
  }
  blobRange(...args: Given<'blobRange'>): Answered<'blobRange'> {
    return this.forward('blobRange', ...args)
  }
  keepBlob(...args: Given<'keepBlob'>): Answered<'keepBlob'> {
    return this.forward('keepBlob', ...args)
  }
}

/** Calls the function of this name. The arguments are those of that function. */
export function callByName(engine: Engine, name: CallName, args: unknown[]): Promise<unknown> {
  return (engine[name] as (...given: unknown[]) => ReturnType<Engine[CallName]>).call(engine, ...args)
}
