// Generated from docs/reference/openapi.json by `make docs`; do not edit. 8f5f4895940e00c5c1aaed219c7aa7a14f34c2099cad8c4826d693810049cbf1
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Accepted: {
            operation: components["schemas"]["OperationName"] | null;
            joined: boolean;
            no_change: boolean;
            repeated: boolean;
            queued: boolean;
            position: number | null;
        };
        Agent: {
            name: string;
            lanes: string[];
            joined_at: string | null;
            expires_at: string | null;
            revoked_at: string | null;
            last_seen: string | null;
            /** @default false */
            connected: boolean;
            /** @default  */
            version: string;
            rejected: {
                [key: string]: string;
            };
            /** @default 0 */
            clock_offset: number;
        };
        AgentCredentials: {
            name: string;
            cell: string;
            lanes: string[];
            bus: string[];
            jwt: string;
            certificate: string;
            authority: string;
        };
        AgentPage: {
            items: components["schemas"]["Agent"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Archive: {
            first: number;
            last: number;
            previous: string | null;
            hash: string | null;
            /** Format: date-time */
            until: string;
            file: string;
            sha256: string;
            by: string;
            /** Format: date-time */
            at: string;
        };
        Booking: {
            host: string;
            lease: string;
            /** Format: date-time */
            start: string;
            /** Format: date-time */
            end: string;
            status: string;
        };
        Calendar: {
            /** Format: date-time */
            start: string;
            /** Format: date-time */
            end: string;
            hosts: components["schemas"]["Host"][];
            booked: components["schemas"]["Booking"][];
            next: string | null;
        };
        Claim: {
            path: string;
            /** @enum {string} */
            mode: "exclusive" | "intention";
            operation: string;
            action: string;
            principal: string;
            since: string | null;
        };
        ClaimHolder: {
            operation: string;
            action: string;
            path: string;
            principal: string;
            since: string | null;
        };
        ClaimPage: {
            items: components["schemas"]["Claim"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        /** @enum {string} */
        Code: "unknown-action" | "not-the-actor" | "not-permitted" | "lane-not-allowed" | "lane-not-served" | "wrong-state" | "in-progress" | "held" | "parent" | "not-empty" | "quota" | "not-forceable" | "needs-reason" | "no-member" | "stale" | "taken" | "not-due" | "not-expected" | "orphan" | "key-reused" | "changed" | "ended" | "not-cancellable" | "not-retryable" | "not-queued" | "stopping" | "not-found";
        DemandAnswer: {
            accepted: number;
            outdated: number;
        };
        DriftReport: {
            path: string;
            kind: string;
            lane: string;
            recorded: string;
            expected: string;
            observed: string | null;
            matches: boolean | null;
            reason: ("moving" | "unasked" | "no-agent" | "no-provider" | "unsaid") | null;
            observed_at: string | null;
            /** @default  */
            next_action: string;
        };
        DriftReportPage: {
            items: components["schemas"]["DriftReport"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        DryRun: {
            path: string;
            kind: string;
            action: string;
            state: string;
            would_join: boolean;
            no_change: boolean;
            would_queue: boolean;
            transitions: components["schemas"]["PlannedTransition"][];
            claims: components["schemas"]["PlannedClaim"][];
            orders: components["schemas"]["PlannedOrder"][];
            timers: components["schemas"]["PlannedTimer"][];
            provider_calls: string[];
            states: string[];
            failure_state: string;
            members: components["schemas"]["MemberClass"][];
        };
        Elapsed: {
            /** Format: date-time */
            since: string;
            limit: number | null;
            deadline: string | null;
            typical: number | null;
            p99: number | null;
            samples: number;
            lane: string;
            late: boolean;
            overdue: boolean;
        };
        Explanation: {
            path: string;
            kind: string;
            action: string;
            state: string;
            allowed: boolean;
            would_join: boolean;
            no_change: boolean;
            would_queue: boolean;
            reasons: components["schemas"]["Reason"][];
            holder: components["schemas"]["ClaimHolder"] | null;
            holders: components["schemas"]["ClaimHolder"][];
            allowed_actions: string[];
            retry_after: number | null;
            remedies: components["schemas"]["Remedy"][];
        };
        ExploredSize: {
            worlds: number;
            steps: number;
        };
        FieldError: {
            location: string;
            message: string;
        };
        Finding: {
            check: string;
            grade: components["schemas"]["Grade"];
            message: string;
            /** @default  */
            remedy: string;
        };
        /** @enum {string} */
        Grade: "ok" | "warn" | "bad";
        Grant: {
            subject: string;
            role: string;
            namespace: string;
            created_by: string;
            /** Format: date-time */
            created_at: string;
        };
        GrantPage: {
            items: components["schemas"]["Grant"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        GroupStatus: {
            resource: components["schemas"]["Resource"];
            summary: string;
            counts: {
                [key: string]: number;
            };
            stable: boolean;
            target_action: string;
            target_status: string;
            operation: components["schemas"]["Operation"] | null;
            groups: components["schemas"]["GroupStatusPart"][];
            lanes: components["schemas"]["GroupStatusPart"][];
            worst: components["schemas"]["UnhealthyMember"] | null;
            observed: components["schemas"]["ObservedGroupStatus"] | null;
        };
        GroupStatusPart: {
            name: string;
            lane: string;
            summary: string;
            counts: {
                [key: string]: number;
            };
        };
        HealthReport: {
            /** Format: date-time */
            at: string;
            version: string;
            findings: components["schemas"]["Finding"][];
        };
        HistoricalResource: {
            path: string;
            kind: string;
            /** Format: date-time */
            at: string;
            state: string;
            state_class: ("stable" | "transitional" | "final" | "absent") | null;
            since: string | null;
            spec: {
                [key: string]: unknown;
            } | null;
            next_spec: {
                [key: string]: unknown;
            } | null;
            facts: {
                [key: string]: unknown;
            };
            operation: string | null;
            principal: string;
            position: number;
        };
        Hold: {
            since: string | null;
            orders: number;
            released: string[];
        };
        Host: {
            name: string;
            lane: string;
            properties: {
                [key: string]: unknown;
            };
            node: string | null;
            healthy: boolean;
            reason: string;
            /** Format: date-time */
            added_at: string;
        };
        HostPage: {
            items: components["schemas"]["Host"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        InventorySupport: {
            lane: string;
            requested: boolean;
        };
        Invitation: {
            name: string;
            lanes: string[];
            token: string;
            /** Format: date-time */
            expires_at: string;
        };
        JournalHead: {
            position: number;
            hash: string;
            after: number;
            /** Format: date-time */
            began_at: string;
            end: number;
            archives: components["schemas"]["Archive"][];
            before: number | null;
        };
        JournalLine: {
            position: number;
            /** Format: date-time */
            at: string;
            path: string;
            kind: string;
            operation: string | null;
            principal: string;
            actor: string;
            trigger: string;
            detail: string;
            source: string;
            target: string;
            change: {
                [key: string]: unknown;
            };
            rejections: number;
            origin: string | null;
            request: string | null;
        };
        JournalPage: {
            items: components["schemas"]["JournalLine"][];
            next: number;
            end: number;
            archived: number;
        };
        KindCount: {
            kind: string;
            state: string;
            /** @enum {string} */
            state_class: "stable" | "transitional" | "final" | "absent";
            /** @enum {string} */
            health: "trouble" | "moving" | "well" | "ended" | "empty";
            members: number;
        };
        KnownDemand: {
            place: string | null;
            value: number;
            /** Format: date-time */
            at: string;
            /** @default  */
            reported_by: string;
        };
        Lane: {
            lane: string;
            agents: components["schemas"]["ServingAgent"][];
            limit: number | null;
            regions: number | null;
            in_flight: number;
            waiting: number;
            untaken: number;
            throttled: number;
            throttled_at: string | null;
            next_inventory_at: string | null;
            /** @default [] */
            namespaces: string[];
        };
        LaneChange: {
            lane: string;
            namespace: string;
            allowed: boolean;
            changed: boolean;
            /** @default [] */
            revoked: string[];
            /** @default false */
            overrides: boolean;
            /** @default [] */
            still_denied: string[];
        };
        LaneGrant: {
            lane: string;
            namespace: string;
            allowed: boolean;
            reason: string;
            changed_by: string;
            /** Format: date-time */
            changed_at: string;
        };
        LaneGrantPage: {
            items: components["schemas"]["LaneGrant"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        LaneLimit: {
            members?: number | null;
        };
        LanePage: {
            items: components["schemas"]["Lane"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Lateness: {
            fired: number;
            median: number;
            p99: number;
            maximum: number;
        };
        Lease: {
            /** Format: uuid */
            id: string;
            path: string;
            name: string;
            status: string;
            operation: string | null;
            /** Format: date-time */
            start: string;
            /** Format: date-time */
            end: string;
            before_end: string | null;
            created_at: string | null;
            changed_at: string | null;
            reservations: components["schemas"]["Reservation"][];
            events: components["schemas"]["LeaseEvent"][];
            /** @default [] */
            notices: components["schemas"]["Notice"][];
            labels: {
                [key: string]: string;
            };
            /** @default  */
            reason: string;
            readonly degraded: boolean;
        };
        LeaseEvent: {
            /** Format: uuid */
            id: string;
            kind: string;
            /** Format: date-time */
            at: string;
            status: string;
            fired_at: string | null;
            /** @default  */
            error: string;
            readonly delay: number | null;
        };
        LeasePage: {
            items: components["schemas"]["Lease"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        LifecycleAction: {
            name: string;
            description: string;
            source: string[];
            via: string[];
            target: string;
            on_failure: string;
            actors: string[];
            rollback: string;
            forceable: boolean;
            updates_spec: boolean;
            signals: string;
            observes: boolean;
            needs_reason: boolean;
        };
        LifecycleDetail: {
            kind: string;
            family: string;
            description: string;
            parent: string;
            members: string;
            states: components["schemas"]["LifecycleState"][];
            actions: components["schemas"]["LifecycleAction"][];
            transitions: components["schemas"]["LifecycleTransition"][];
            findings: components["schemas"]["LifecycleFinding"][];
            explored: components["schemas"]["ExploredSize"] | null;
            registered: components["schemas"]["RegisteredLifecycle"] | null;
        };
        LifecycleFinding: {
            rule: string;
            location: string;
            message: string;
            fix: string;
        };
        LifecycleName: {
            kind: string;
            family: string;
            description: string;
            parent: string;
            members: string;
            version: number | null;
            states: number;
            actions: number;
            transitions: number;
            findings: number;
        };
        LifecycleNamePage: {
            items: components["schemas"]["LifecycleName"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        LifecycleState: {
            name: string;
            /** @enum {string} */
            state_class: "stable" | "transitional" | "final" | "absent";
            description: string;
            unhealthy: boolean;
            timeout: number | null;
            awaits: string | null;
        };
        LifecycleTransition: {
            source: string;
            trigger: string;
            detail: string;
            actor: string;
            target: string;
            forced: boolean;
        };
        Log: {
            path: string;
            lines: string[];
            position: string;
            /** @default 0 */
            omitted: number;
        };
        Login: {
            anonymous_access: boolean;
            issuer: string | null;
            client: string | null;
            scopes: string;
        };
        MemberClass: {
            state: string;
            members: number;
            /** @enum {string} */
            effect: "acts" | "joins" | "nothing" | "skipped";
            /** @default  */
            target: string;
            /** @default [] */
            reasons: components["schemas"]["Reason"][];
        };
        NewToken: {
            name: string;
            token: string;
            roles: components["schemas"]["RoleBinding"][];
            /** Format: date-time */
            expires_at: string;
        };
        NextArchive: {
            first: number;
            last: number;
            /** Format: date-time */
            until: string;
            pending: boolean;
        };
        NextArchives: {
            next: components["schemas"]["NextArchive"] | null;
        };
        Notice: {
            /** Format: uuid */
            id: string;
            event: string;
            /** Format: date-time */
            created_at: string;
            url: string;
            attempts: number;
            delivered_at: string | null;
            error: string;
        };
        ObservedGroupStatus: {
            members: number;
            calls: number;
            calls_saved: number;
            unobserved: components["schemas"]["UnobservedGroupStatus"][];
        };
        Operation: {
            id: string;
            action: string;
            kind: string;
            path: string;
            principal: string;
            reason: string;
            request: {
                [key: string]: unknown;
            };
            total: number;
            remaining: number;
            failed: number;
            outcome: ("succeeded" | "failed" | "rolled_back" | "unknown" | "preempted" | "cancelled" | "rejected") | null;
            /** Format: date-time */
            created_at: string;
            ended_at: string | null;
            state: string | null;
            phase: string | null;
            attempt: number | null;
            /** @default false */
            cancelled: boolean;
            position: number | null;
            /** @default [] */
            reasons: components["schemas"]["Reason"][];
            /** @default  */
            message: string;
            skipped: {
                [key: string]: number;
            };
            /** @default 0 */
            orders: number;
            place: string | null;
            elapsed: components["schemas"]["Elapsed"] | null;
            readonly queued: boolean;
        };
        OperationMember: {
            path: string;
            outcome: string;
            message: string;
            /** Format: date-time */
            at: string;
        };
        OperationMemberPage: {
            items: components["schemas"]["OperationMember"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        OperationName: {
            id: string;
            action: string;
            kind: string;
            path: string;
        };
        OperationPage: {
            items: components["schemas"]["Operation"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Orphan: {
            lane: string;
            token: string;
            path: string;
            state: string;
            facts: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            first_observed_at: string;
            /** Format: date-time */
            last_observed_at: string;
        };
        OrphanPage: {
            items: components["schemas"]["Orphan"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Overview: {
            /** Format: date-time */
            at: string;
            position: number;
            counts: components["schemas"]["KindCount"][];
            classes: {
                [key: string]: number;
            };
            in_progress: number;
            waiting: number;
            unhealthy: components["schemas"]["UnhealthyResource"][];
            more_unhealthy: boolean;
            calls_made: number | null;
            calls_saved: number | null;
            transitions: number[] | null;
            agents_connected: number | null;
            agents_disconnected: number | null;
            throttled: components["schemas"]["ThrottledLane"][];
        };
        PlannedClaim: {
            path: string;
            mode: string;
            change: string;
        };
        PlannedOrder: {
            verb: string;
            lane: string;
            members: number;
        };
        PlannedTimer: {
            name: string;
            seconds: number;
        };
        PlannedTransition: {
            source: string;
            target: string;
            trigger: string;
            detail: string;
            actor: string;
        };
        Policy: {
            name: string;
            text: string;
            changed_by: string;
            changed_at: string | null;
        };
        PolicyPage: {
            items: components["schemas"]["Policy"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            code: string;
            request_id: string;
            current_state?: string | null;
            allowed_actions?: string[] | null;
            holder?: components["schemas"]["ClaimHolder"] | null;
            holders?: components["schemas"]["ClaimHolder"][] | null;
            reasons?: components["schemas"]["Reason"][] | null;
            retry_after?: number | null;
            errors?: components["schemas"]["FieldError"][] | null;
            message?: string | null;
            error_message?: string | null;
        };
        ProviderLimits: {
            members?: number | null;
            regions?: number | null;
        };
        Queue: {
            path: string;
            stopping: boolean;
            waiting: number;
            running: string | null;
            /** Format: date-time */
            created_at: string;
        };
        QueueDetail: {
            path: string;
            stopping: boolean;
            waiting: number;
            running: string | null;
            /** Format: date-time */
            created_at: string;
            items: components["schemas"]["Operation"][];
            more: boolean;
        };
        QueuePage: {
            items: components["schemas"]["Queue"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        Quota: {
            resource: string;
            used: number;
            limit: number | null;
        };
        Quotas: {
            path: string;
            items: components["schemas"]["Quota"][];
        };
        Reason: {
            code: components["schemas"]["Code"];
            message: string;
        };
        RegisteredLifecycle: {
            version: number;
            document: string;
            registered_by: string;
            /** Format: date-time */
            registered_at: string;
            explored: {
                [key: string]: unknown;
            };
        };
        Remedy: {
            /** @enum {string} */
            kind: "wait" | "ask" | "force" | "reason" | "parent" | "quota" | "empty" | "actor" | "permission" | "lane" | "nothing";
            description: string;
            /** @default [] */
            actions: string[];
            /** @default  */
            operation: string;
        };
        Reservation: {
            /** Format: uuid */
            id: string;
            path: string;
            name: string;
            status: string;
            count: number;
            min: number;
            properties: {
                [key: string]: unknown;
            };
            hosts: string[];
            lane: string;
            missing_resources: boolean;
            resources_changed: boolean;
        };
        Resource: {
            path: string;
            kind: string;
            state: string;
            /** @enum {string} */
            state_class: "stable" | "transitional" | "final" | "absent";
            etag: string;
            lane: string;
            spec: {
                [key: string]: unknown;
            };
            next_spec: {
                [key: string]: unknown;
            } | null;
            facts: {
                [key: string]: unknown;
            };
            operation: components["schemas"]["RunningOperation"] | null;
            hidden: components["schemas"]["RunningOperation"] | null;
            timers: {
                [key: string]: string;
            };
            observed_at: string | null;
            changed_at: string | null;
            created_at: string | null;
            members: {
                [key: string]: number;
            } | null;
            /** @default  */
            failure: string;
        };
        ResourcePage: {
            items: components["schemas"]["Resource"][];
            next: string | null;
            position: number;
            specs: boolean;
        };
        RoleBinding: {
            role: string;
            namespace: string;
        };
        RunningDeploy: {
            id: string;
            action: string;
            place: string;
            principal: string;
            /** Format: date-time */
            since: string;
            total: number;
            remaining: number;
            failed: number;
            expanded: boolean;
            cancelled: boolean;
        };
        RunningOperation: {
            id: string;
            action: string;
            phase: string;
            source: string;
            target: string;
            attempt: number;
            principal: string;
            since: string | null;
            /** @default false */
            cancelled: boolean;
            elapsed: components["schemas"]["Elapsed"] | null;
        };
        ScaledInstance: {
            path: string;
            state: string;
            own: boolean;
        };
        Scaling: {
            namespace: string;
            name: string;
            policy: components["schemas"]["ScalingPolicy"];
            changed_by: string;
            /** Format: date-time */
            changed_at: string;
            code: string;
            message: string;
            evaluated_at: string | null;
            demand: components["schemas"]["KnownDemand"][];
            actions: components["schemas"]["ScalingAction"][];
            instances: components["schemas"]["ScaledInstance"][];
        };
        ScalingAction: {
            place: string;
            action: string;
            /** Format: date-time */
            at: string;
            operation: string | null;
            ended_at: string | null;
            failed: boolean;
        };
        ScalingPage: {
            items: components["schemas"]["Scaling"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        ScalingPolicy: {
            /** @default  */
            app: string;
            /** @default  */
            cluster: string;
            places: string[];
            up_above: number;
            down_below: number;
            maximum: number;
            /** @default 0 */
            minimum: number;
            /** @default 1000 */
            maximum_at_place: number;
            /** @default 0 */
            minimum_at_place: number;
            spec?: {
                [key: string]: unknown;
            };
            /**
             * @default total
             * @enum {string}
             */
            demand: "total" | "place";
            /**
             * @default order
             * @enum {string}
             */
            choice: "order" | "spread";
            /** @default 1 */
            step: number;
            /** @default 60 */
            cooldown_up: number;
            /** @default 300 */
            cooldown_down: number;
            /** @default 120 */
            believed_for: number;
        };
        ServingAgent: {
            name: string;
            version: string;
            connected: boolean;
            /** Format: date-time */
            last_seen: string;
            /** @default  */
            rejected: string;
        };
        Stuck: {
            path: string;
            kind: string;
            state: string;
            lane: string;
            operation: string;
            action: string;
            principal: string;
            phase: string | null;
            outcome: string | null;
            /** Format: date-time */
            since: string;
            elapsed: components["schemas"]["Elapsed"] | null;
            causes: components["schemas"]["StuckCause"][];
            observations: components["schemas"]["StuckObservation"][];
            missed_observations: number;
            resolution: string;
            steps: components["schemas"]["SuggestedStep"][];
        };
        StuckCause: {
            /** @enum {string} */
            code: "no-agent" | "late" | "overdue" | "probing" | "fencing" | "unattended" | "blocked" | "unknown" | "settled";
            message: string;
        };
        StuckObservation: {
            /** Format: date-time */
            at: string;
            observed: string;
        };
        StuckPage: {
            items: components["schemas"]["Stuck"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        SuggestedStep: {
            /** @enum {string} */
            kind: "wait" | "agent" | "cancel" | "retry" | "ask";
            description: string;
            /** @default  */
            operation: string;
            /** @default [] */
            actions: string[];
        };
        System: {
            path: string;
            state: string;
            operation: string | null;
            lanes: string[];
            parts: components["schemas"]["SystemPart"][];
            running: components["schemas"]["RunningDeploy"][];
        };
        SystemChange: {
            path: string;
            kind: string;
            action: string;
            change: string;
            lane: string;
            fields: string[];
        };
        SystemPart: {
            path: string;
            kind: string;
            state: string;
            lane: string;
            count: number;
            running: number | null;
            operation: string | null;
        };
        SystemPlan: {
            path: string;
            place: string;
            mark: string;
            changes: components["schemas"]["SystemChange"][];
        };
        ThrottledLane: {
            lane: string;
            calls: number;
            /** Format: date-time */
            at: string;
        };
        Timeline: {
            operation: components["schemas"]["Operation"];
            /** Format: date-time */
            now: string;
            total: number;
            items: components["schemas"]["TimelineBar"][];
            next: string | null;
            errors: components["schemas"]["TimelineError"][];
        };
        TimelineBar: {
            path: string;
            kind: string;
            /** Format: date-time */
            started_at: string;
            ended_at: string | null;
            source: string;
            phases: components["schemas"]["TimelinePhase"][];
            outcome: string | null;
            message: string;
        };
        TimelineError: {
            outcome: string;
            message: string;
            members: number;
            path: string;
        };
        TimelinePhase: {
            state: string;
            /** Format: date-time */
            at: string;
        };
        Token: {
            id: string;
            name: string;
            roles: components["schemas"]["RoleBinding"][];
            created_by: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            used_at: string | null;
        };
        TokenPage: {
            items: components["schemas"]["Token"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        TreeNode: {
            name: string;
            path: string;
            kind: string | null;
            state: string | null;
            state_class: ("stable" | "transitional" | "final" | "absent") | null;
            /** @enum {string} */
            health: "trouble" | "moving" | "well" | "ended" | "empty";
            worst: string;
            total: number;
            counts: {
                [key: string]: {
                    [key: string]: number;
                };
            };
        };
        TreeNodePage: {
            items: components["schemas"]["TreeNode"][];
            next: string | null;
            /** @default false */
            more: boolean;
        };
        UnhealthyMember: {
            path: string;
            state: string;
            /** Format: date-time */
            since: string;
            message: string;
        };
        UnhealthyResource: {
            path: string;
            kind: string;
            state: string;
            /** @enum {string} */
            state_class: "stable" | "transitional" | "final" | "absent";
            /** Format: date-time */
            since: string;
            reason: string;
        };
        /** @enum {string} */
        UnknownReason: "moving" | "unasked" | "no-agent" | "no-provider" | "unsaid" | "still" | "final";
        UnobservedGroupStatus: {
            state: string;
            reason: components["schemas"]["UnknownReason"];
            members: number;
            oldest: string | null;
        };
        Whoami: {
            name: string;
            groups: string[];
            roles: components["schemas"]["RoleBinding"][];
            anonymous_access: boolean;
            expires_at: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Accepted = components['schemas']['Accepted'];
export type Agent = components['schemas']['Agent'];
export type AgentCredentials = components['schemas']['AgentCredentials'];
export type AgentPage = components['schemas']['AgentPage'];
export type Archive = components['schemas']['Archive'];
export type Booking = components['schemas']['Booking'];
export type Calendar = components['schemas']['Calendar'];
export type Claim = components['schemas']['Claim'];
export type ClaimHolder = components['schemas']['ClaimHolder'];
export type ClaimPage = components['schemas']['ClaimPage'];
export type Code = components['schemas']['Code'];
export type DemandAnswer = components['schemas']['DemandAnswer'];
export type DriftReport = components['schemas']['DriftReport'];
export type DriftReportPage = components['schemas']['DriftReportPage'];
export type DryRun = components['schemas']['DryRun'];
export type Elapsed = components['schemas']['Elapsed'];
export type Explanation = components['schemas']['Explanation'];
export type ExploredSize = components['schemas']['ExploredSize'];
export type FieldError = components['schemas']['FieldError'];
export type Finding = components['schemas']['Finding'];
export type Grade = components['schemas']['Grade'];
export type Grant = components['schemas']['Grant'];
export type GrantPage = components['schemas']['GrantPage'];
export type GroupStatus = components['schemas']['GroupStatus'];
export type GroupStatusPart = components['schemas']['GroupStatusPart'];
export type HealthReport = components['schemas']['HealthReport'];
export type HistoricalResource = components['schemas']['HistoricalResource'];
export type Hold = components['schemas']['Hold'];
export type Host = components['schemas']['Host'];
export type HostPage = components['schemas']['HostPage'];
export type InventorySupport = components['schemas']['InventorySupport'];
export type Invitation = components['schemas']['Invitation'];
export type JournalHead = components['schemas']['JournalHead'];
export type JournalLine = components['schemas']['JournalLine'];
export type JournalPage = components['schemas']['JournalPage'];
export type KindCount = components['schemas']['KindCount'];
export type KnownDemand = components['schemas']['KnownDemand'];
export type Lane = components['schemas']['Lane'];
export type LaneChange = components['schemas']['LaneChange'];
export type LaneGrant = components['schemas']['LaneGrant'];
export type LaneGrantPage = components['schemas']['LaneGrantPage'];
export type LaneLimit = components['schemas']['LaneLimit'];
export type LanePage = components['schemas']['LanePage'];
export type Lateness = components['schemas']['Lateness'];
export type Lease = components['schemas']['Lease'];
export type LeaseEvent = components['schemas']['LeaseEvent'];
export type LeasePage = components['schemas']['LeasePage'];
export type LifecycleAction = components['schemas']['LifecycleAction'];
export type LifecycleDetail = components['schemas']['LifecycleDetail'];
export type LifecycleFinding = components['schemas']['LifecycleFinding'];
export type LifecycleName = components['schemas']['LifecycleName'];
export type LifecycleNamePage = components['schemas']['LifecycleNamePage'];
export type LifecycleState = components['schemas']['LifecycleState'];
export type LifecycleTransition = components['schemas']['LifecycleTransition'];
export type Log = components['schemas']['Log'];
export type Login = components['schemas']['Login'];
export type MemberClass = components['schemas']['MemberClass'];
export type NewToken = components['schemas']['NewToken'];
export type NextArchive = components['schemas']['NextArchive'];
export type NextArchives = components['schemas']['NextArchives'];
export type Notice = components['schemas']['Notice'];
export type ObservedGroupStatus = components['schemas']['ObservedGroupStatus'];
export type Operation = components['schemas']['Operation'];
export type OperationMember = components['schemas']['OperationMember'];
export type OperationMemberPage = components['schemas']['OperationMemberPage'];
export type OperationName = components['schemas']['OperationName'];
export type OperationPage = components['schemas']['OperationPage'];
export type Orphan = components['schemas']['Orphan'];
export type OrphanPage = components['schemas']['OrphanPage'];
export type Overview = components['schemas']['Overview'];
export type PlannedClaim = components['schemas']['PlannedClaim'];
export type PlannedOrder = components['schemas']['PlannedOrder'];
export type PlannedTimer = components['schemas']['PlannedTimer'];
export type PlannedTransition = components['schemas']['PlannedTransition'];
export type Policy = components['schemas']['Policy'];
export type PolicyPage = components['schemas']['PolicyPage'];
export type Problem = components['schemas']['Problem'];
export type ProviderLimits = components['schemas']['ProviderLimits'];
export type Queue = components['schemas']['Queue'];
export type QueueDetail = components['schemas']['QueueDetail'];
export type QueuePage = components['schemas']['QueuePage'];
export type Quota = components['schemas']['Quota'];
export type Quotas = components['schemas']['Quotas'];
export type Reason = components['schemas']['Reason'];
export type RegisteredLifecycle = components['schemas']['RegisteredLifecycle'];
export type Remedy = components['schemas']['Remedy'];
export type Reservation = components['schemas']['Reservation'];
export type Resource = components['schemas']['Resource'];
export type ResourcePage = components['schemas']['ResourcePage'];
export type RoleBinding = components['schemas']['RoleBinding'];
export type RunningDeploy = components['schemas']['RunningDeploy'];
export type RunningOperation = components['schemas']['RunningOperation'];
export type ScaledInstance = components['schemas']['ScaledInstance'];
export type Scaling = components['schemas']['Scaling'];
export type ScalingAction = components['schemas']['ScalingAction'];
export type ScalingPage = components['schemas']['ScalingPage'];
export type ScalingPolicy = components['schemas']['ScalingPolicy'];
export type ServingAgent = components['schemas']['ServingAgent'];
export type Stuck = components['schemas']['Stuck'];
export type StuckCause = components['schemas']['StuckCause'];
export type StuckObservation = components['schemas']['StuckObservation'];
export type StuckPage = components['schemas']['StuckPage'];
export type SuggestedStep = components['schemas']['SuggestedStep'];
export type System = components['schemas']['System'];
export type SystemChange = components['schemas']['SystemChange'];
export type SystemPart = components['schemas']['SystemPart'];
export type SystemPlan = components['schemas']['SystemPlan'];
export type ThrottledLane = components['schemas']['ThrottledLane'];
export type Timeline = components['schemas']['Timeline'];
export type TimelineBar = components['schemas']['TimelineBar'];
export type TimelineError = components['schemas']['TimelineError'];
export type TimelinePhase = components['schemas']['TimelinePhase'];
export type Token = components['schemas']['Token'];
export type TokenPage = components['schemas']['TokenPage'];
export type TreeNode = components['schemas']['TreeNode'];
export type TreeNodePage = components['schemas']['TreeNodePage'];
export type UnhealthyMember = components['schemas']['UnhealthyMember'];
export type UnhealthyResource = components['schemas']['UnhealthyResource'];
export type UnknownReason = components['schemas']['UnknownReason'];
export type UnobservedGroupStatus = components['schemas']['UnobservedGroupStatus'];
export type Whoami = components['schemas']['Whoami'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
