import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { defineScript, int, ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';

const addUpTo = defineScript({
  name: 'points.add-up-to',
  keys: ['points'],
  args: { amount: int, cap: int, retentionMs: int },
  source: `
    local had = tonumber(redis.call('GET', KEYS[1]) or '0')
    local has = math.min(had + tonumber(ARGV[1]), tonumber(ARGV[2]))
    redis.call('SET', KEYS[1], has, 'PX', ARGV[3])
    return { has, has - had }`,
  reply: ([has = 0, added = 0]: number[]) => ({ has, added }),
});

@Injectable()
class Points {
  constructor(private readonly scripts: ScriptRegistry) {}

  add(userId: string, amount: number): Promise<{ has: number; added: number }> {
    const points = this.scripts.keySpace('points').tag(userId).key('total');
    return this.scripts.run(addUpTo, { keys: { points }, args: { amount, cap: 100, retentionMs: 60_000 } });
  }
}

@Module({ imports: [ScriptRegistryModule.forFeature([addUpTo])], providers: [Points] })
export class ScriptRegistryUse {}

export async function useScriptRegistry(app: INestApplicationContext): Promise<string> {
  const points = app.get(Points);
  const [first, second] = await Promise.all([points.add('ann', 70), points.add('ann', 70)]);
  const { healthy } = await app.get(ScriptRegistry).health();
  return `added ${first.added} and ${second.added} of 140, has ${second.has}, ${healthy ? 'healthy' : 'not healthy'}`;
}
