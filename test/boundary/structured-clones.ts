// The engine behind a boundary that passes nothing but structured clones and asynchronous calls, as another process would.
// The rigs of the wires' tests put every wire behind it, so no wire can rely on a live object of the engine.

import type { Engine, OpenSessions } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { runtimeOf, type Turnwire } from '../../src/library/turnwire.ts'

/** A clone that fails for functions and class instances. An object with `undefined` members keeps them, as a clone does. */
function cloned<T>(value: T): T {
  return structuredClone(value)
}

/** What crosses of an error: its code and message; of a defect, its message. */
function crossed(error: unknown): Error {
  return error instanceof TurnwireError
    ? new TurnwireError(error.code, error.message, { retryAfterMs: error.retryAfterMs })
    : new Error(String(error))
}

async function later(): Promise<void> {
  await new Promise<void>(resolve => setImmediate(resolve))
}

async function call<T>(act: () => Promise<T>): Promise<T> {
  await later()
  try {
    return cloned(await act())
  } catch (error) {
    throw crossed(error)
  }
}

async function* stream<T>(open: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  await later()
  try {
    for await (const batch of open()) {
      const copy = cloned(batch)
      await later()
      yield copy
    }
  } catch (error) {
    throw crossed(error)
  }
}

/** Every call of the boundary, with clones of what it is given and of what it gives. */
export function throughClones(engine: Engine): Engine {
  return {
    describe: () => call(() => engine.describe()),
    fromServers: (agent, query) => call(() => engine.fromServers(agent, cloned(query))),
    create: create => call(() => engine.create(cloned(create))),
    command: (ref, command) => call(() => engine.command(cloned(ref), cloned(command))),
    remove: ref => call(() => engine.remove(cloned(ref))),
    follow: (ref, options, signal) => stream(() => engine.follow(cloned(ref), cloned(options), signal)),
    answerOnce: (request, signal) => stream(() => engine.answerOnce(cloned(request), signal)),
    attach: (ref, tools, signal) => stream(() => engine.attach(cloned(ref), cloned(tools), signal)),
    report: (ref, report) => call(() => engine.report(cloned(ref), cloned(report))),
    summary: (ref, keys) => call(() => engine.summary(cloned(ref), keys && cloned(keys))),
    history: (ref, query) => call(() => engine.history(cloned(ref), cloned(query))),
    events: (ref, after, maxBytes) => call(() => engine.events(cloned(ref), after, maxBytes)),
    blob: (ref, query) => call(() => engine.blob(cloned(ref), cloned(query))),
    list: (owner, page) => call(() => engine.list(owner, cloned(page))),
    changes: signal => stream(() => engine.changes(signal)),
    lookUp: query => call(() => engine.lookUp(cloned(query))),
  }
}

/** Puts the engine of a program behind the boundary of clones, before its server starts. Gives the sessions behind it. */
export async function putBehindClones(turnwire: Turnwire): Promise<OpenSessions> {
  const runtime = runtimeOf(turnwire)
  const local = await runtime.local()
  if (!local) throw new Error('Another process has the data folder.')
  // The engine of a node passes on what other nodes have.
  Object.assign(runtime, { engine: throughClones(runtime.node ? runtime.engine : local) })
  return local.sessions
}
