// For `node --import`: runs the TypeScript of this repository in a process of its own, where jest's transform does not reach.
import { register } from 'node:module'

register('./typescript-hooks.mjs', import.meta.url)
