// The same history as each vendor would receive it, with the rules of its API that it would break.
import { type ReactElement, useCallback } from 'react'
import { type VendorProtocol, vendorProtocols } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { JsonTree } from '../../../../src/react/index.ts'
import { operator } from '../../lib/console-state.tsx'
import { Failure, Loading, State, useLoaded } from '../../lib/parts.tsx'
import { navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { useTabInSight } from '../../lib/tab-in-sight.ts'

const names: Readonly<Record<VendorProtocol, string>> = {
  anthropic: 'Anthropic Messages',
  'openai-responses': 'OpenAI Responses',
  'openai-chat': 'Chat Completions',
  gemini: 'Gemini generateContent',
  'gemini-interactions': 'Gemini Interactions',
}

export default function Vendors({ id, seq }: { id: string; seq: number }): ReactElement {
  const address = useAddress()
  const asked = address.query.get('vendor')
  const protocol = vendorProtocols.find(each => each === asked) ?? 'anthropic'
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new event makes another request
  const load = useCallback(
    (signal: AbortSignal) => operator.request(id, protocol, { signal }),
    [id, protocol, seq],
  )
  const { value, error, reload } = useLoaded(load)
  const isOld = value !== undefined && value.protocol !== protocol
  return (
    <section className="vendors page-scroll" aria-label="As vendors see it" tabIndex={0}>
      <div ref={useTabInSight(protocol)} className="tabs" role="tablist" aria-label="Vendor">
        {vendorProtocols.map(each => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`tab-${each}`}
            aria-selected={each === protocol}
            aria-controls="vendor-panel"
            className="tab"
            onClick={() => navigate(withQuery(address, { vendor: each }), { replace: true })}
          >
            {names[each]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="vendor-panel" aria-labelledby={`tab-${protocol}`}>
        {error && <Failure error={error} retry={reload} />}
        {!value && !error && <Loading what="the request" />}
        {value && !isOld && (
          <>
            <Findings findings={value.findings} warnings={value.warnings} name={names[protocol]} />
            <JsonTree value={value.body} label="Request body" />
          </>
        )}
      </div>
    </section>
  )
}

type FindingsProps = {
  findings: { rule: string; message: string; why: string }[]
  warnings: string[]
  name: string
}

function Findings({ findings, warnings, name }: FindingsProps): ReactElement {
  return (
    <div className="findings">
      {findings.length === 0 ? (
        <State kind="done" words={`The doctor finds nothing that ${name} would reject.`} />
      ) : (
        <ul className="bad">
          {findings.map(({ rule, message, why }) => (
            <li key={`${rule}${message}`}>
              <strong>{printable(rule, 60)}</strong> {printable(message, 300)}
              <span className="tw-muted"> {printable(why, 300)}</span>
            </li>
          ))}
        </ul>
      )}
      {warnings.length > 0 && (
        <ul className="tw-muted">
          {warnings.map(words => (
            <li key={words}>{printable(words, 300)}</li>
          ))}
        </ul>
      )}
    </div>
  )
}
