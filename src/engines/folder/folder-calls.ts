// The ports of a data folder's store that other processes use too: payments, and records beside the logs. Each call goes to the
// process that has the folder, by its name, so that a folder has one writer also of these.
import type { RecordStore } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { PaymentStore } from '../../payments/port.ts'

export type FolderPorts = { payments: PaymentStore; records: RecordStore }
export type FolderPort = keyof FolderPorts

const names = {
  payments: ['reserve', 'record', 'find', 'list'],
  records: ['add', 'change', 'remove', 'find', 'list', 'due'],
} as const satisfies { [Port in FolderPort]: readonly (keyof FolderPorts[Port])[] }

/** Ports whose calls are made by `ask`. */
export function portsBy(
  ask: (port: FolderPort, name: string, args: unknown[]) => Promise<unknown>,
): FolderPorts {
  const callsOf = (port: FolderPort): object =>
    Object.fromEntries(names[port].map(name => [name, (...args: unknown[]) => ask(port, name, args)]))
  // The peer runs the same version: it answers with what the call of this name gives.
  return { payments: callsOf('payments') as PaymentStore, records: callsOf('records') as RecordStore }
}

/** The call that a peer asks for. */
export function portCall(
  ports: FolderPorts,
  port: FolderPort,
  name: unknown,
  args: readonly unknown[],
): Promise<unknown> {
  const known = names[port].find(each => each === name)
  if (!known) throw new TurnwireError('internal', `There is no such call of ${port}.`)
  // The same for its arguments.
  const calls = ports[port] as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
  return calls[known]!(...args)
}
