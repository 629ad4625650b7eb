// Payments of the server: settled, pending, failed with the reason, and refunds.
import { type ReactElement, useCallback, useEffect } from 'react'
import type { OperatorPayment, OperatorPayments } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { Time } from '../../../../src/react/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { Empty, Failure, Id, Loading, State, type StateKind, useEvery, useLoaded } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'
import { DataTable } from '../../lib/table.tsx'
import { assetAmount } from './amounts.ts'

export default function Payments(): ReactElement {
  const { me } = useConsole()
  if (me.features.includes('payments')) return <Ledger />
  return (
    <Empty title="This server takes no payments">
      <p>Its configuration has no setting “payments”. docs/guide/payments.md shows one.</p>
    </Empty>
  )
}

function Ledger(): ReactElement {
  const { onChange } = useConsole()
  const load = useCallback((signal: AbortSignal) => operator.payments(200, { signal }), [])
  const { value, error, reload } = useLoaded(load)
  useEffect(() => onChange(reload), [onChange, reload])
  // A settlement is no change of a session.
  useEvery(10_000, reload)
  return (
    <div className="page payments page-scroll">
      <header className="page-head">
        <h1>Payments</h1>
        {value && <Totals payments={value} />}
      </header>
      {error && !value && <Failure error={error} retry={reload} />}
      {!value && !error && <Loading what="the payments" />}
      {value?.payments.length === 0 && (
        <Empty title="Nobody has paid yet">
          <p>
            A request without a key to an agent that has a price is answered with what it costs. Its payment
            appears here.
          </p>
        </Empty>
      )}
      {value && value.payments.length > 0 && <List payments={value} reload={reload} />}
    </div>
  )
}

function Totals({ payments }: { payments: OperatorPayments }): ReactElement {
  const { totals } = payments
  return (
    <p className="tw-muted" role="status">
      {totals.length === 0
        ? 'Nothing is settled'
        : totals
            .map(
              ({ amount, asset, payments: settled, network }) =>
                `${assetAmount(amount, asset, payments)} settled in ${plural(settled, 'payment')} on ${printable(network, 40)}`,
            )
            .join(', ')}
    </p>
  )
}

const heads = ['State', 'Amount', 'At most', 'Agent', 'Payer', 'Transaction', 'Settled', '']

function List({ payments, reload }: { payments: OperatorPayments; reload: () => void }): ReactElement {
  return (
    <DataTable
      className="payments-list"
      label="Table of payments"
      caption="The newest 200 payments"
      hidesCaption
      heads={heads}
      isNumber={at => at === 1 || at === 2}
    >
      {payments.payments.map(payment => (
        <Row key={payment.id} payment={payment} payments={payments} reload={reload} />
      ))}
    </DataTable>
  )
}

const states: Readonly<Record<OperatorPayment['state'], StateKind>> = {
  reserved: 'waiting',
  settling: 'running',
  settled: 'done',
  released: 'new',
  failed: 'failed',
  refunding: 'running',
  refunded: 'stopped',
}

type RowProps = { payment: OperatorPayment; payments: OperatorPayments; reload: () => void }

function Row({ payment, payments, reload }: RowProps): ReactElement {
  const { state, amount, cap, asset, agent, payer, transaction, settledAt, session, unclear } = payment
  const why = explainPayment(payment)
  return (
    <tr>
      <td>
        <State kind={unclear ? 'waiting' : states[state]} words={unclear ? 'unclear' : state} />
        {why !== undefined && <p className="tw-muted reason">{printable(why, 300)}</p>}
      </td>
      <td className="number">{amount === undefined ? '–' : assetAmount(amount, asset, payments)}</td>
      <td className="number">{assetAmount(cap, asset, payments)}</td>
      <td>
        {session === undefined ? (
          printable(agent, 60)
        ) : (
          <Link to={`/sessions/${session}`} className="link">
            {printable(agent, 60)}
          </Link>
        )}
      </td>
      <td>
        <Id id={payer} />
      </td>
      <td>{transaction === undefined ? '–' : <Id id={transaction} />}</td>
      <td>{settledAt === undefined ? '–' : <Time at={settledAt} />}</td>
      <td>{state === 'settled' && <Refund payment={payment} payments={payments} reload={reload} />}</td>
    </tr>
  )
}

function explainPayment({ id, unclear, reason, owed }: OperatorPayment): string | undefined {
  if (unclear)
    return `Nobody here knows whether it has moved. Look at the chain, then say so: turnwire payments resolve ${id} <transaction>, or none`
  return reason ?? (owed ? 'the answer failed after it was paid' : undefined)
}

function Refund({ payment, payments, reload }: RowProps): ReactElement {
  const { attempt, problem } = useAttempt()
  const { id, payer, asset, amount = '0' } = payment
  const refund = (): void => {
    if (!confirm(`Pay ${assetAmount(amount, asset, payments)} back to ${payer}? This moves money.`)) return
    attempt(operator.refund(id).then(reload))
  }
  return (
    <>
      <button
        type="button"
        className="tw-button tw-small tw-danger"
        onClick={refund}
        aria-label={`Pay back ${id}`}
      >
        Pay back…
      </button>
      {problem}
    </>
  )
}
