// The exports of `turnwire/payments`: what a client needs to pay. It runs in browsers and in Node.
export {
  type PayingFetch,
  type PayingFetchOptions,
  type PayingWallet,
  type PaymentDone,
  type PaymentOffer,
  PaymentRefused,
  payingFetch,
} from './paying-fetch.ts'
