import { Module, type INestApplicationContext } from '@nestjs/common';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';

@Module({
  imports: [
    ReadRewardModule.forRoot({ rules: { article: { limit: 2, pointsPerItem: 5, timeZone: 'Asia/Shanghai' } } }),
  ],
})
export class ReadRewardUse {}

export async function useReadReward(app: INestApplicationContext): Promise<string> {
  const rewards = app.get(ReadRewardService);
  const statuses: string[] = [];
  for (const itemId of ['a', 'a', 'b', 'c']) {
    const { status, points } = await rewards.record({ rule: 'article', userId: 'ann', itemId });
    statuses.push(`${status} ${points}`);
  }
  return statuses.join(', ');
}
