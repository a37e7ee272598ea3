import { defineConfig } from 'vitest/config'

const shared = { pool: 'forks', environment: 'node', restoreMocks: true, unstubEnvs: true } as const

export default defineConfig({
  test: {
    // Belongs to the root alone: a project that inherited it would run it again.
    globalSetup: ['test/global-setup.ts'],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/slow/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'slow',
          include: ['test/slow/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
