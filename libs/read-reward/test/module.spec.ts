import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { getScriptRegistryToken, ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';

const rules = { read: { limit: 1 } };
const LIMIT = Symbol('limit');

@Module({ providers: [{ provide: LIMIT, useValue: 2 }], exports: [LIMIT] })
class LimitModule {}

async function boot(name: string | undefined, rewards: Parameters<typeof Module>[0]['imports']) {
  const client = standaloneClient();
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ name, client, prefix: uniquePrefix(), preload: 'required' }),
      ...(rewards ?? []),
    ],
  })(App);
  const booting = NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  const app = await booting.catch((error: unknown) => {
    client.disconnect();
    throw error;
  });
  return {
    app,
    close: async () => {
      await app.close();
      client.disconnect();
    },
  };
}

describe('ReadRewardModule', () => {
  it('boots with forRoot, and its scripts are loaded', async () => {
    const { app, close } = await boot(undefined, [ReadRewardModule.forRoot({ rules })]);
    expect(await app.get(getScriptRegistryToken()).health()).toMatchObject({ healthy: true });
    const answer = await app.get(ReadRewardService).record({ rule: 'read', userId: 'u', itemId: 'a' });
    expect(answer).toMatchObject({ status: 'rewarded', used: 1, remaining: 0 });
    await close();
  });

  it('boots with forRootAsync, on a registry with a name', async () => {
    const { app, close } = await boot('points', [
      ReadRewardModule.forRootAsync({
        imports: [LimitModule],
        inject: [LIMIT],
        registry: 'points',
        useFactory: (limit: number) => ({ rules: { read: { limit } } }),
      }),
    ]);
    const answer = await app.get(ReadRewardService).record({ rule: 'read', userId: 'u', itemId: 'a' });
    expect(answer).toMatchObject({ status: 'rewarded', remaining: 1 });
    await close();
  });

  it('refuses an invalid option at boot', async () => {
    const booting = boot(undefined, [ReadRewardModule.forRoot({ rules: { read: { limit: 0.5 } } })]);
    await expect(booting).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
