-- CreateTable
CREATE TABLE "processed_events" (
    "source" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "event_type" TEXT NOT NULL,
    "received_at" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,

    PRIMARY KEY ("source", "event_id")
);

-- CreateIndex
CREATE INDEX "processed_events_received_at_idx" ON "processed_events"("received_at");
