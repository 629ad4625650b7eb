// x402 and Sixerr's form of payment, clause by clause, in our own words. `ours` marks what we add, or decide where the
// protocols are silent; docs/protocols/x402.md explains it.
import { clausesOf, type Manifest } from './manifest.ts'

const lines = `
X402-OFFER-01 | 2 | http | A request without a payment gets 402 with PAYMENT-REQUIRED: base64 of version, error, resource and offers; it is not cached.
X402-OFFER-02 | 1 | http | The body of the same answer has the offers of version 1, with the name of the network.
X402-EXACT-01 | 2 | schemes | exact over EIP-3009: the official client pays, the amount moves once, PAYMENT-RESPONSE has the receipt.
X402-EXACT-02 | 2 | schemes | exact over Permit2, through x402's proxy.
X402-EXACT-03 | 2 | ours | An exact payment of a stream has settled before its first byte.
X402-EXACT-04 | 1 | http | A client of version 1 pays with X-PAYMENT and gets X-PAYMENT-RESPONSE.
X402-UPTO-01 | 2 | schemes | upto: what was used is settled, at most what was signed for.
X402-UPTO-02 | 2 | schemes | The receipt of upto says the amount.
X402-UPTO-03 | 2 | ours | A metered turn is ended in time to be settled before its payment expires, for what was said until then.
X402-ONCE-01 | 1 2 | ours | Repetitions of one payment, also at the same time, buy one answer and move the money once.
X402-ONCE-02 | 1 2 | ours | A payment is bound to its request: another body, path or signature is 409.
X402-ONCE-03 | 1 2 | ours | A process that dies between any two steps of a payment leaves no charge without an answer, and no second charge.
X402-ONCE-04 | 1 2 | ours | A payment is bound to its owner and to one session: a wallet that signed in gets one turn for it, however it asks.
X402-VERIFY-01 | 1 2 | verify | A payment whose amount, asset, network, recipient, resource, expiry, payer or nonce was changed is refused with 402.
X402-VERIFY-02 | 1 2 | verify | A payer without money is refused with 402; a header that is no payment with 400.
X402-VERIFY-03 | 1 2 | ours | A payment that expires before the answer can be whole and settled is refused with 402.
X402-FAIL-01 | 1 2 | http | A turn that fails is not charged, and the payment can pay for it again.
X402-FAIL-02 | 1 2 | ours | What was settled for an answer that failed is paid back where the server can.
X402-FAIL-03 | 1 2 | ours | A payment that could not be settled is failed for good: it is not tried again, and buys nothing.
X402-FAIL-04 | 1 2 | ours | An authorization that its payer used up elsewhere has not paid: only a transaction of the server counts, or the transfer itself on the chain.
X402-FAC-01 | 2 | facilitator | A facilitator elsewhere is asked /supported, /verify and /settle.
X402-FAC-02 | 2 | facilitator | A settlement without an answer is pending, looked up later, and never a new 402. A nonce that is used up decides nothing.
X402-FAC-03 | 2 | facilitator | A facilitator that fails is 502, and nothing is done.
X402-WIRE-01 | 2 | ours | Every HTTP wire is paid for in the same way.
X402-WIRE-02 | 2 | ours | Connections that cannot carry a payment, sockets, ACP and the operator API, refuse a turn that is to be paid for, and say so.
X402-WIRE-03 | 2 | ours | Over MCP the payment is in _meta["x402/payment"], what to pay is a result with isError and structuredContent, and the receipt is in _meta["x402/payment-response"].
X402-TURN-01 | 2 | ours | Each turn of a tool conversation is a payment of its own; the turn names it, and its record has the receipt.
X402-OWN-01 | 2 | ours | The wallet owns what it creates, and no other wallet sees it.
X402-OWN-02 | 2 | ours | A wallet signs in to read, and GET /v1/usage shows it its payments.
X402-OWN-03 | 2 | ours | A wallet's token creates no session without a paid turn, compacts nothing and gives no operator commands.
X402-OWN-04 | 2 | ours | An answer at a fixed price cannot be read through a token before its payment is settled, nor if that fails.
X402-OWN-05 | 2 | ours | A payer cannot delete or take over a session while a payment for it is open.
X402-CLIENT-01 | 2 | ours | payingFetch pays within caps for a request and in all, for allowed assets, networks, recipients and servers.
X402-SIXERR-01 | 2 | sixerr 4 | The 402 body has Sixerr's members; a Permit2 signature for maxCost pays; the platform gets its share.
X402-SIXERR-02 | 2 | sixerr 4 | A permit whose sender, token, amount, nonce, deadline or spender was changed is refused.
X402-SIXERR-03 | 2 | sixerr 4 | A standard client is offered the same price as upto in the header.
`

const manifest: Manifest = { protocol: 'x402', prefix: 'X402', clauses: clausesOf(lines) }
export default manifest
