// The third share of the simulations.
import { testSeeds } from './seeds.ts'

testSeeds(3)
