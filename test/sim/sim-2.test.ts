// The second share of the simulations.
import { testSeeds } from './seeds.ts'

testSeeds(2)
