// The payments of a data folder, for processes that do not have it: each call goes to the process that does, by its name. So a
// folder has one writer also of payments.
import { TurnwireError } from '../../language/errors.ts'
import type { PaymentStore } from '../../payments/port.ts'

const names = ['reserve', 'record', 'find', 'list'] as const satisfies readonly (keyof PaymentStore)[]
export type PaymentCall = (typeof names)[number]

/** A store whose calls are made by `ask`. */
export function paymentsBy(ask: (name: PaymentCall, args: unknown[]) => Promise<unknown>): PaymentStore {
  // The peer runs the same version: it answers with what the call of this name gives.
  const call =
    <Name extends PaymentCall>(name: Name) =>
    (...args: Parameters<PaymentStore[Name]>) =>
      ask(name, args) as ReturnType<PaymentStore[Name]>
  return { reserve: call('reserve'), record: call('record'), find: call('find'), list: call('list') }
}

/** The call that a peer asks for. */
export function paymentCall(
  payments: PaymentStore,
  name: unknown,
  args: readonly unknown[],
): Promise<unknown> {
  const known = names.find(each => each === name)
  if (!known) throw new TurnwireError('internal', 'There is no such call of payments.')
  // The same for its arguments.
  return (payments[known] as (...given: unknown[]) => Promise<unknown>)(...args)
}
