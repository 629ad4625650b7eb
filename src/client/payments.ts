// The exports of `turnwire/payments`, with which a client pays. It runs in browsers and in Node.
export {
  type PayingFetch,
  type PayingFetchOptions,
  type PayingWallet,
  type PaymentDone,
  PaymentRefused,
  type PaymentTerms,
  payingFetch,
} from './paying-fetch.ts'
