// One function per provider; each makes a model.
export * from './compatible.ts'
export { modelFamily, type ProviderOptions, type Secret, unsetIn } from './deployment.ts'
export {
  findPrice,
  type PricedProvider,
  type PriceRow,
  pricedProviders,
  priceTable,
  priceTableDate,
} from './price-table.ts'
export * from './vendors.ts'
