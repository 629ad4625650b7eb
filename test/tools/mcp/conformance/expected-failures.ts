// The scenarios and checks of the conformance suite that fail, with the reason. The tests fail when one is missing here, and
// when one that stands here passes.
import type { ExpectedFailure } from './compare.ts'

export const expectedFailures: readonly ExpectedFailure[] = [
  {
    role: 'client',
    scenarios: ['auth/dpop', 'auth/dpop-nonce'],
    why: 'An extension: tokens are bearer tokens, and are not bound to a key (DPoP).',
  },
  {
    role: 'client',
    scenarios: ['auth/enterprise-managed-authorization', 'auth/wif-jwt-bearer'],
    why: 'Extensions: a token is got by a login or by client credentials, not by exchanging the token of an identity provider.',
  },
  {
    role: 'server',
    scenarios: ['input-required-result-non-tool-request'],
    why: 'A prompt is made of its arguments. It asks a person nothing.',
  },
  {
    role: 'server',
    scenarios: ['resources-subscribe', 'resources-unsubscribe'],
    why: 'Resources are read when someone asks for them. Their changes are not announced.',
  },
  {
    role: 'server',
    scenarios: ['logging-set-level', 'tools-call-with-logging'],
    why: 'What a tool says while it runs is sent as progress, not as log messages.',
  },
  {
    role: 'server',
    revision: '2026-07-28',
    scenarios: ['server-stateless'],
    only: ['sep-2575-server-no-log-without-loglevel'],
    why: 'Not testable without a tool that logs. No log messages are sent at all.',
  },
  {
    role: 'server',
    scenarios: [
      'tools-call-sampling',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
    ],
    why: "A tool of an agent asks the agent's own model, never the client's, and works in folders that the operator chose.",
  },
  {
    role: 'server',
    scenarios: ['input-required-result-multiple-input-requests', 'input-required-result-capability-check'],
    why: 'They want one tool that asks for sampling and roots of the client as well, which a tool of an agent does not.',
  },
  {
    role: 'server',
    revision: '2026-07-28',
    scenarios: ['server-stateless'],
    only: ['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400'],
    why: 'Not testable without a tool that wants sampling of the client. A question of a call whose client cannot be asked waits for another wire.',
  },
  {
    role: 'server',
    revision: '2026-07-28',
    scenarios: ['input-required-result-ignore-extra-params'],
    why: 'The scenario answers without the state that came with the question. A call goes on only with its state, so it asks again.',
  },
]
