import swc from 'unplugin-swc'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [
    // esbuild does not emit the types by which Nest injects.
    swc.vite({ jsc: { transform: { legacyDecorator: true, decoratorMetadata: true } }, module: { type: 'es6' } }),
  ],
  test: { include: ['src/**/*.test.ts'], testTimeout: 30_000, hookTimeout: 30_000 },
})
