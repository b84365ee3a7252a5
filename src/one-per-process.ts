/**
 * One value for all copies of this library in the process: an application may load the ES module while a package it uses
 * loads the CommonJS build.
 */
export function onePerProcess<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`nestjs-webhook-idempotency:${name}`)
  const shared = globalThis as { [key]?: Value }
  return (shared[key] ??= make())
}
