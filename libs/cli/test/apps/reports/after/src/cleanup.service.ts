import { Injectable } from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { ScheduledLock } from 'luanest/scheduled-lock';

@Injectable()
export class CleanupService {
  cleaned = 0;
  warmed = false;

  @ScheduledLock()
  @Interval('cleanup', 200)
  clean() {
    this.cleaned++;
  }

  @Timeout(50)
  warmUp() {
    this.warmed = true;
  }
}
